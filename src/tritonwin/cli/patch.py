"""`tritonwin patch`: the Windows layer for a Triton whose sources lack it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tritonwin.cli.options import (
    Command,
    Group,
    TargetOptions,
    json_option,
    may_start,
    path_option,
    refuse_together,
    target_options,
)
from tritonwin.errors import Exit, UserError

if TYPE_CHECKING:
    from tritonwin.patch.engine import RuleChoice
    from tritonwin.patch.records import PatchOutcome
    from tritonwin.patch.session import PatchSession


@click.group("patch", cls=Group)
def command() -> None:
    """Make Triton's own sources work on Windows: rule by rule, and back again.

    For a Triton that was built from upstream's sources, another party's build, or upstream files
    over triton-windows. On triton-windows itself only what it still lacks is offered.

    \b
    Examples:
      tritonwin patch status --app C:\\ComfyUI_windows_portable
      tritonwin patch diff --triton C:\\venv\\Lib\\site-packages\\triton
      tritonwin patch apply --only ptxas-blackwell
      tritonwin patch revert
    """


def place_options(command: Command) -> Command:
    """Add --python, --app, --timeout, --triton and --json."""
    triton = path_option("--triton", "DIR", "Work on this package folder: it holds __init__.py.")
    return target_options(triton(json_option(command)))


def choice_options(command: Command) -> Command:
    """Add --only, --import-time and --allow-unknown."""
    for option in (
        click.option(
            "--allow-unknown",
            is_flag=True,
            help="Also edit files that no known release holds, where the rules fit.",
        ),
        click.option(
            "--import-time",
            is_flag=True,
            help="Change no file of Triton: a hook applies the rules when Triton is imported.",
        ),
        click.option(
            "--only", multiple=True, metavar="RULE", help="This rule alone; can be repeated."
        ),
    ):
        command = option(command)
    return command


@command.command("status")
@place_options
def status(**given: Any) -> int:
    """Show how each rule stands: needed, applied, fixed already, or unknown.

    Exit status 1 when a rule is needed without which no kernel compiles or launches.
    """
    return _tell(lambda session: session.status(), **given)


@command.command("diff")
@choice_options
@place_options
def diff(*, import_time: bool, only: tuple[str, ...], allow_unknown: bool, **given: Any) -> int:
    """Show what apply would change, as a unified diff; change nothing."""
    choice = _choice(only, allow_unknown=allow_unknown)
    return _tell(lambda session: session.diff(choice, import_time=import_time), **given)


@command.command("apply")
@choice_options
@place_options
def apply(*, import_time: bool, only: tuple[str, ...], allow_unknown: bool, **given: Any) -> int:
    """Apply the rules that are needed, all of them or none; at once.

    What was there before is kept outside of Triton: patch revert, or tritonwin undo, restores it
    byte for byte. Exit status 1 when a file has a content that is not known.
    """
    choice = _choice(only, allow_unknown=allow_unknown)
    return _tell(lambda session: session.apply(choice, import_time=import_time), **given)


@command.command("revert")
@place_options
def revert(**given: Any) -> int:
    """Undo what apply changed, on disk or as a hook.

    Exit status 1 when a file was changed by others since: nothing is done then.
    """
    return _tell(lambda session: session.revert(), **given)


def _choice(only: tuple[str, ...], *, allow_unknown: bool) -> RuleChoice:
    from tritonwin.patch.engine import RuleChoice
    from tritonwin.patch.rules import BY_ID

    for name in only:
        if name not in BY_ID:
            raise UserError(f"there is no rule {name}", f"The rules are: {', '.join(BY_ID)}")
    return RuleChoice(only=only, allow_unknown=allow_unknown)


def _tell(
    act: Callable[[PatchSession], PatchOutcome],
    *,
    target: TargetOptions,
    triton: Path | None,
    as_json: bool,
) -> int:
    """Do it with the Triton that is named, and print what came of it."""
    from tritonwin.output.documents import outcome_report
    from tritonwin.output.outcomes import PatchReport, of_patch
    from tritonwin.output.terminal import answer
    from tritonwin.patch.session import of_folder, of_python

    refuse_together("triton", "python", "app")
    session = (
        of_folder(triton)
        if triton
        else of_python(target.python, target.app, target.timeout, may_start)
    )
    outcome = act(session)
    answer(outcome_report(PatchReport, session.target, outcome), of_patch(outcome), as_json=as_json)
    failed = outcome.blocked if outcome.status == "examined" else outcome.status == "refused"
    return Exit.PROBLEMS if failed else Exit.DONE

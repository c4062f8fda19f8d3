"""`tritonwin patch`: the Windows layer for a Triton whose sources lack it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonwin.cli.options import (
    TargetOptions,
    may_start,
    path_option,
    refuse_together,
    refuse_unknown,
    switch,
)
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.patch.records import PatchOutcome

_ABOUT = """
    Make Triton's own sources work on Windows: rule by rule, and back again.

    For a Triton that was built from upstream's sources, another party's build, or upstream files
    over triton-windows. On triton-windows itself only what it still lacks is offered.

    \b
    Examples:
      tritonwin patch status --app C:\\ComfyUI_windows_portable
      tritonwin patch diff --triton C:\\venv\\Lib\\site-packages\\triton
      tritonwin patch apply --only ptxas-blackwell
      tritonwin patch revert
"""
_PLACE = path_option("--triton", "DIR", "Work on this package folder: it holds __init__.py.")
_CHOICE = (
    _PLACE,
    click.option("--allow-unknown", is_flag=True, help="Also edit files of no known release."),
    click.option("--import-time", is_flag=True, help="By a hook at import; no file is changed."),
    click.option("--only", multiple=True, metavar="RULE", help="This rule alone; can be repeated."),
)


def _act(
    word: str,
    target: TargetOptions,
    as_json: bool,
    *,
    triton: Path | None,
    only: tuple[str, ...] = (),
    import_time: bool = False,
    allow_unknown: bool = False,
) -> int:
    """Do it with the Triton that is named, and print the outcome."""
    from tritonwin.output.documents import outcome_report
    from tritonwin.output.outcomes import PatchReport, of_patch
    from tritonwin.output.terminal import answer
    from tritonwin.patch.engine import RuleChoice
    from tritonwin.patch.rules import BY_ID
    from tritonwin.patch.session import of_folder, of_python

    refuse_together("triton", "python", "app")
    refuse_unknown("rule", only, BY_ID)
    session = (
        of_folder(triton)
        if triton
        else of_python(target.python, target.app, target.timeout, may_start)
    )
    choice = RuleChoice(only=only, allow_unknown=allow_unknown)
    acts: dict[str, Callable[[], PatchOutcome]] = {
        "status": session.status,
        "diff": partial(session.diff, choice, import_time=import_time),
        "apply": partial(session.apply, choice, import_time=import_time),
        "revert": session.revert,
    }
    outcome = acts[word]()
    report = outcome_report(PatchReport, session.target, outcome)
    answer(report, of_patch(report), as_json=as_json)
    failed = outcome.blocked if outcome.status == "examined" else outcome.status == "refused"
    return Exit.PROBLEMS if failed else Exit.DONE


command = switch(
    "patch",
    _ABOUT,
    {
        "status": """Show how each rule stands: needed, applied, fixed already, or unknown.

            Exit status 1 when a rule is needed without which no kernel compiles or launches.""",
        "diff": "Show what apply would change, as a unified diff; change nothing.",
        "apply": """Apply the rules that are needed, all of them or none; at once.

            What was there before is kept outside of Triton: patch revert, or tritonwin undo,
            restores it byte for byte. Exit status 1 when a file has a content that is not
            known.""",
        "revert": """Undo what apply changed, on disk or as a hook.

            Exit status 1 when a file was changed by others since: nothing is done then.""",
    },
    _act,
    {"status": (_PLACE,), "diff": _CHOICE, "apply": _CHOICE, "revert": (_PLACE,)},
)

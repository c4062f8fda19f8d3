"""`tritonwin guard`: keep pip and ComfyUI-Manager from replacing what was proven to work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tritonwin.cli.options import Group, TargetOptions, json_option, target_options
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.facts.records import Facts
    from tritonwin.remedies.records import GuardOutcome


@click.group(
    "guard",
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
)
def command() -> None:
    """Keep the versions of torch, Triton and attention packages that were proven to work.

    The pip of this Python then refuses to replace them, and ComfyUI-Manager skips them.

    \b
    Examples:
      tritonwin guard on --app C:\\ComfyUI_windows_portable
      tritonwin guard status
      tritonwin guard off
    """


@command.command("on")
@target_options
@json_option
def switch_on(**given: Any) -> int:
    """Keep what is installed now. It has to be proven: tritonwin verify."""
    from tritonwin.journal import Store
    from tritonwin.remedies import guard

    return _tell(lambda facts: guard.switch_on(facts, Store.default()), **given)


@command.command("off")
@target_options
@json_option
def switch_off(**given: Any) -> int:
    """Allow other versions again: every file as it was, the edits of others kept."""
    from tritonwin.journal import Store
    from tritonwin.remedies import guard

    return _tell(lambda facts: guard.switch_off(facts, Store.default()), **given)


@command.command("status")
@target_options
@json_option
def status(**given: Any) -> int:
    """Show what is kept, and what was replaced all the same (exit status 1)."""
    from tritonwin.remedies import guard

    return _tell(guard.status, **given)


def _tell(act: Callable[[Facts], GuardOutcome], *, target: TargetOptions, as_json: bool) -> int:
    from tritonwin.output import documents, guard

    facts = target.collect()
    outcome = act(facts)
    if as_json:
        documents.print_document(documents.outcome_report(guard.GuardReport, facts.target, outcome))
    else:
        guard.print_outcome(outcome)
    return Exit.PROBLEMS if outcome.drifted or outcome.missing else Exit.DONE

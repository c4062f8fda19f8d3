"""What `tritonwin install` prints: the choice with its reasons, the plan, the proof."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tritonwin.facts.model import Facts
from tritonwin.output.consent import agreed
from tritonwin.output.documents import InstallReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.output.plan import print_plan
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.remedies.install import Installation
from tritonwin.support.model import Choice

_FEW = 4  # reasons and names that are shown unless everything is asked for

_VERDICTS = {
    "planned": "Nothing was changed.",
    "nothing-fits": "Nothing was changed: not everything that was asked for has a wheel that fits.",
    "nothing-to-do": "Everything is there already.",
    "declined": "Nothing was changed.",
    "installed": "Installed and imported. To give everything back: tritonwin undo",
    "import-failed": "Installed, but its import fails. To give everything back: tritonwin undo",
}


def report(facts: Facts, done: Installation) -> InstallReport:
    return InstallReport(
        tool=Tool(),
        target=target_of(facts),
        status=done.status,
        choices=done.found.choices,
        kept=done.found.kept,
        notes=done.found.notes,
        plan=done.plan,
        journal=done.journal,
        imports=done.imports,
    )


def agree(done: Installation, *, every_reason: bool, yes: bool) -> bool:
    """Show what would be done and ask, unless the answer was given before."""
    _print_choices(done, every_reason=every_reason)
    return yes or agreed("Make these changes?")


def print_outcome(done: Installation, *, every_reason: bool, shown: bool) -> None:
    """How it ended; with the choices and the plan where they were not shown before."""
    if not shown:
        _print_choices(done, every_reason=every_reason)
    out = console()
    for result in done.imports:
        said = f": {result.error}" if result.error else ""
        line = f"  import {result.module}: {result.outcome}{said}"
        out.print(Text(printable(line)), soft_wrap=True)
    out.print(Text(_VERDICTS[done.status], "bold"), soft_wrap=True)


def _print_choices(done: Installation, *, every_reason: bool) -> None:
    out = console()
    kept = {item.name for item in done.found.kept}
    for choice in done.found.choices:
        for line, style in _choice(choice, kept=choice.package in kept, every=every_reason):
            out.print(Text(printable(line), style), soft_wrap=True)
    for note in done.found.notes:
        out.print(Text(printable(f"note: {note}")), soft_wrap=True)
    if done.plan.changes:
        out.print()
        print_plan(done.plan)


def _choice(choice: Choice, *, kept: bool, every: bool) -> Iterator[tuple[str, str]]:
    if choice.file is None:
        yield f"{choice.request}: no wheel fits", "bold red"
    else:
        yield f"{choice.request}: {choice.version}" + (" is installed" if kept else ""), "bold"
        yield f"    {choice.file}", ""
        yield f"    from {choice.source}", "dim"
    for note in choice.notes:
        yield f"    note: {note}", ""
    groups = choice.grouped()
    for reason, files in groups if every else groups[:_FEW]:
        yield f"    not {_named(files, len(files) if every else 1)}: {reason}", "dim"
    if not every and len(groups) > _FEW:
        rest = sum(len(files) for _, files in groups[_FEW:])
        yield f"    and {rest} more, see --all", "dim"


def _named(files: tuple[str, ...], limit: int) -> str:
    names = ", ".join(files[:limit])
    return names + (f" and {len(files) - limit} more" if len(files) > limit else "")

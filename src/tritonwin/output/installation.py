"""What `tritonwin install` prints: the choice with its reasons, the plan, the proof."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tritonwin.facts.records import Facts
from tritonwin.output.documents import InstallReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.remedies.context import ChoiceEvent
from tritonwin.remedies.install import Installation
from tritonwin.support.wheel_choice import WheelChoice

_FEW = 4  # reasons and names that are shown unless everything is asked for

_VERDICTS = {
    "planned": "Nothing was changed.",
    "nothing-fits": "Nothing was changed: not everything that was asked for has a wheel that fits.",
    "nothing-to-do": "Everything is there already.",
    "declined": "Nothing was changed.",
    "installed": "Installed and imported. To undo it: tritonwin undo",
    "import-failed": "Installed, but its import fails. To undo it: tritonwin undo",
}


def report(facts: Facts, done: Installation) -> InstallReport:
    return InstallReport(tool=Tool(), target=target_of(facts.target), **vars(done))


def print_choices(event: ChoiceEvent, *, every: bool) -> None:
    """Each choice with the reasons against the other wheels; `every`: all of them."""
    kept = {item.name for item in event.kept}
    for choice in event.choices:
        for line, style in _choice(choice, kept=choice.package in kept, every=every):
            _print(line, style)
    for note in event.notes:
        _print(f"note: {note}")


def print_outcome(done: Installation) -> None:
    """How it ended."""
    for result in done.imports:
        said = f": {result.error}" if result.error else ""
        _print(f"  import {result.module}: {result.outcome}{said}")
    _print(_VERDICTS[done.status], "bold")


def _print(text: str, style: str = "") -> None:
    console().print(Text(printable(text), style), soft_wrap=True)


def _choice(choice: WheelChoice, *, kept: bool, every: bool) -> Iterator[tuple[str, str]]:
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

"""What `tritonwin install` prints: the choice with its reasons, the plan, the proof."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tritonwin.facts.model import Facts
from tritonwin.output.consent import agreed
from tritonwin.output.documents import InstallReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.output.plan import print_plan
from tritonwin.output.progress import Teller
from tritonwin.output.text import printable
from tritonwin.remedies.install import Installation
from tritonwin.support.wheel_choice import WheelChoice

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
        target=target_of(facts.target),
        status=done.status,
        choices=done.found.choices,
        kept=done.found.kept,
        notes=done.found.notes,
        plan=done.plan,
        journal=done.journal,
        imports=done.imports,
    )


class Screen(Teller):
    """Shows a person the choice and the plan, asks, and tells what happens."""

    def __init__(self, *, every_reason: bool, yes: bool) -> None:
        super().__init__()
        self._every = every_reason
        self._yes = yes
        self._shown = False

    def agree(self, done: Installation) -> bool:
        self._show(done)
        return self._yes or agreed("Make these changes?")

    def print_outcome(self, done: Installation) -> None:
        """How it ended; the choice and the plan first, unless they were shown before."""
        if not self._shown:
            self._show(done)
        for result in done.imports:
            said = f": {result.error}" if result.error else ""
            self._print(f"  import {result.module}: {result.outcome}{said}")
        self._print(_VERDICTS[done.status], "bold")

    def _show(self, done: Installation) -> None:
        self._shown = True
        kept = {item.name for item in done.found.kept}
        for choice in done.found.choices:
            for line, style in _choice(choice, kept=choice.package in kept, every=self._every):
                self._print(line, style)
        for note in done.found.notes:
            self._print(f"note: {note}")
        if done.plan.changes:
            self.out.print()
            print_plan(done.plan)

    def _print(self, text: str, style: str = "") -> None:
        self.out.print(Text(printable(text), style), soft_wrap=True)


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

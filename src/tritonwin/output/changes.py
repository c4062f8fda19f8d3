"""Fix and install for people and for programs: plans, events, downloads and outcomes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tritonwin.facts.records import Facts
from tritonwin.output.blocks import Block, CodeBlock, Span, TextLine, line
from tritonwin.output.documents import TargetDocument
from tritonwin.output.proof import of_proof
from tritonwin.output.terminal import DownloadBar, Screen
from tritonwin.output.text import few, size
from tritonwin.output.view import counted, section
from tritonwin.remedies.plan import Change, Plan
from tritonwin.remedies.records import (
    ChoiceEvent,
    Event,
    FixResult,
    Installation,
    PlanEvent,
    ProgressEvent,
    ProofEvent,
    StepEvent,
)
from tritonwin.support.wheel_choice import WheelChoice
from tritonwin.system.codec import to_json
from tritonwin.system.shells import word
from tritonwin.verify.records import RungResult


@dataclass(frozen=True, kw_only=True)
class FixReport(FixResult, TargetDocument):
    """The document of `tritonwin fix`: the plan of every round, how it ended, what remains."""

    schema: Literal["tritonwin.fix/2"] = "tritonwin.fix/2"


@dataclass(frozen=True, kw_only=True)
class InstallReport(Installation, TargetDocument):
    """The document of `tritonwin install`: every choice with its reasons, and the plan."""

    schema: Literal["tritonwin.install/2"] = "tritonwin.install/2"


EventKind: TypeAlias = Literal["step", "progress", "choices", "plan", "agreed", "proof", "outcome"]


@dataclass(frozen=True, kw_only=True)
class EventLine:
    """One line of `--json-lines`; which fields it has depends on `event`."""

    schema: Literal["tritonwin.event/2"] = "tritonwin.event/2"
    event: EventKind
    seconds: float  # since the command began
    text: str | None = None
    done: int | None = None  # bytes of a download, or steps of a build
    total: int | None = None
    choices: tuple[WheelChoice, ...] = ()
    notes: tuple[str, ...] = ()
    plan: Plan | None = None
    rungs: tuple[RungResult, ...] = ()
    outcome: FixReport | InstallReport | None = None


def of_plan(plan: Plan) -> Iterator[TextLine]:
    """The changes, numbered in their order, then what stays to be done by hand."""
    if plan.changes:
        yield line(f"Changes to {plan.target}:", "strong")
    for number, change in enumerate(plan.changes, 1):
        yield line(f"{number:>3}. ", "plain", Span(change.what, "strong"))
        yield from (line(detail, "faint", indent=7) for detail in _details(change))
    for each in plan.unsolved:
        yield line(f"not solved: {each.problem}: {each.reason}")
        if each.help:
            yield line(f"help: {each.help}", indent=6)


def _details(change: Change) -> Iterator[str]:
    yield f"why: {change.why}"
    for source in change.sources:
        much = f", {size(source.size)}" if source.size else ""
        yield f"from: {source.location}{much}"
    needs = [
        word
        for word, needed in (
            ("administrator rights", change.admin),
            ("the network", change.network),
        )
        if needed
    ]
    if needs:
        yield f"needs: {', '.join(needs)}"
    others = [f"stays: {path}, which is no file of the package" for path in change.stays]
    others += [
        f"replaces: {each.path}, which belongs to {each.owner or 'no package'}"
        for each in change.replaces
    ]
    yield from few(others, _FEW, "more, see --json")
    if change.note:
        yield f"note: {change.note}"


_FEW = 4  # reasons and names that are shown unless everything is asked for

_INSTALL_VERDICTS = {
    "planned": "Nothing was changed.",
    "nothing-fits": "Nothing was changed: not everything that was asked for has a wheel that fits.",
    "nothing-to-do": "Everything is there already.",
    "declined": "Nothing was changed.",
    "installed": "Installed and imported. To undo it: tritonwin undo",
    "import-failed": "Installed, but its import fails. To undo it: tritonwin undo",
}


def of_choices(event: ChoiceEvent, *, every: bool) -> Iterator[TextLine]:
    """Each choice: what, why, from where; `every`: with the reasons against all other wheels."""
    for choice in event.choices:
        yield from _choice(choice, every=every)
    for note in event.notes:
        yield line(f"note: {note}")


def of_installation(done: Installation) -> Iterator[TextLine]:
    """The result of the imports, and the verdict."""
    for result in done.imports:
        said = f": {result.error}" if result.error else ""
        yield line(f"import {result.module}: {result.outcome}{said}", indent=2)
    yield line(_INSTALL_VERDICTS[done.status], "strong")


def _choice(choice: WheelChoice, *, every: bool) -> Iterator[TextLine]:
    groups = choice.grouped()
    if choice.file is None:
        yield line(f"{choice.request}: no wheel fits", "bad")
    else:
        installed = " is installed" * choice.installed
        yield line(f"{choice.request}: {choice.version}{installed}", "strong")
        yield line(choice.file, indent=4)
        much = f", {size(choice.size)}" if choice.size else ""
        hashed = f"SHA-256 {choice.sha256[:12]}..." if choice.sha256 else "no hash is known"
        yield line(f"from {choice.source}{much}, {hashed}", "faint", indent=4)
        if choice.trust:
            yield line(f"this place: {choice.trust}", "faint", indent=4)
    for note in choice.notes:
        yield line(f"note: {note}", indent=4)
    shown = groups if every else () if choice.file else groups[:_FEW]
    for reason, files in shown:
        named = _named(files, len(files) if every else 1)
        yield line(f"not {named}: {reason}", "faint", indent=4)
    rest = sum(len(files) for _, files in groups[len(shown) :])
    if rest:
        other = "other" if choice.file else "more"
        yield line(f"{rest} {other} do not fit, see --all", "faint", indent=4)


def _named(files: tuple[str, ...], limit: int) -> str:
    names = ", ".join(files[:limit])
    return names + (f" and {len(files) - limit} more" if len(files) > limit else "")


_FIX_VERDICTS = {
    "healthy": "Nothing has to be done.",
    "planned": "Nothing was changed.",
    "declined": "Nothing was changed.",
    "proven": "Proven: it works now.",
    "stuck": "Not everything could be solved.",
    "undone": "It got worse, so everything was undone.",
}
_RUNNING = "A program that was running all the while keeps what it has loaded: start it again."


def of_fix(facts: Facts, outcome: FixResult) -> Iterator[Block]:
    """Remaining problems, the verdict, and the command that undoes it."""
    if outcome.status not in {"planned", "declined"}:
        for problem in outcome.problems:
            yield from (TextLine(), section(problem))
        if outcome.problems:
            yield line(counted(outcome.problems))
    for check in outcome.crashed:
        said = f"check {check.id} failed, its problem may be there: {check.detail}"
        yield line(said, "crashed")
    yield line(_FIX_VERDICTS[outcome.status], "strong")
    if outcome.status == "proven" and outcome.journals:
        yield line(_RUNNING)
    if outcome.snapshot:
        yield line(f"For a bug report, with nothing private in it: {outcome.snapshot}")
    if outcome.journals and outcome.status != "undone":
        yield from (line("To undo everything:"), CodeBlock(_undo_command(facts, outcome)))
    if outcome.status == "proven" and facts.target is not None:
        named = word(facts.target.executable)
        keep = f"tritonwin guard on --python {named or 'PYTHON'}"
        yield line(f"To keep pip from replacing what was proven: {keep}")


def _undo_command(facts: Facts, outcome: FixResult) -> str:
    if len(outcome.journals) == 1 or facts.target is None:
        return f"tritonwin undo {outcome.journals[0]}"
    # all rounds together
    return f'tritonwin undo --python "{facts.target.executable}"'


def of_event(event: Event) -> Iterator[Block]:
    """An event as it is shown below those before it; downloads are shown in other ways."""
    match event:
        case StepEvent(text=text):
            yield line(text, indent=2)
        case ChoiceEvent():
            yield from of_choices(event, every=False)
        case PlanEvent(plan=plan):
            yield from of_plan(plan)
        case ProofEvent(rungs=rungs):
            yield from of_proof(rungs)


class ProgressPrinter:
    """Tells a person what happens: each step a line, downloads between them.

    Args:
        every_reason: show every wheel that was not chosen, and why.
    """

    def __init__(self, *, every_reason: bool = False) -> None:
        self._screen = Screen()
        self._every = every_reason
        self._download = DownloadBar(self._screen.out)

    def close(self) -> None:
        """Leave the terminal as it was, also after a download that failed."""
        self._download.end()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ProgressEvent):
            self._download.update(event.done, event.total)
            return
        self._download.end()
        match event:
            case ChoiceEvent():
                self._screen.show(*of_choices(event, every=self._every))
            case _:
                self._screen.show(*of_event(event))


_EVERY = 1.0  # seconds between two events of progress


class EventWriter:
    """Writes each event as one line of JSON."""

    def __init__(self) -> None:
        self._began = self._told = time.monotonic()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ProgressEvent):
            if time.monotonic() - self._told < _EVERY:
                return
            self._told = time.monotonic()
        self._write(EventLine(seconds=self._seconds(), **vars(event)))

    def finish(self, document: FixReport | InstallReport) -> None:
        """The last line: what --json prints."""
        self._write(EventLine(event="outcome", seconds=self._seconds(), outcome=document))

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 2)

    @staticmethod
    def _write(line: EventLine) -> None:
        told = {name: to_json(value) for name, value in vars(line).items()}
        said = {name: value for name, value in told.items() if value not in (None, [])}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()

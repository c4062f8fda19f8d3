"""Fix and install for people and for programs: plans, events, downloads and outcomes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, TypeVar

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.output.blocks import Block, CodeBlock, Prose, Span, Table, line
from tritonwin.output.documents import TargetDocument, outcome_report, print_document
from tritonwin.output.proof import of_proof
from tritonwin.output.terminal import Meter, agreed, show
from tritonwin.output.text import megabytes, size
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


EventKind: TypeAlias = Literal["step", "progress", "choices", "plan", "proof", "outcome"]


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


_FEW = 4  # reasons and names that are shown unless everything is asked for


def of_plan(plan: Plan) -> Iterator[Block]:
    """The changes, numbered in their order, then what stays to be done by hand."""
    if plan.changes:
        yield line(f"Changes to {plan.target}:", "strong")
    for number, change in enumerate(plan.changes, 1):
        yield Prose(change.what, label=f"{number}. ", tone="strong", indent=2)
        yield Prose(change.why, label="why: ", tone="faint", indent=5)
        yield Table(tuple(_details(change)), indent=3)
        if change.note:
            yield Prose(change.note, label="note: ", indent=5)
    for each in plan.unsolved:
        yield Prose(f"{each.problem}: {each.reason}", label="not solved: ", indent=0)
        if each.help:
            yield Prose(each.help, label="help: ", indent=6)


def _details(change: Change) -> Iterator[tuple[Span, ...]]:
    """Its sources, its needs, and its effect on files of others."""
    needed = {"administrator rights": change.admin, "the network": change.network}
    needs = ", ".join(name for name, needs_it in needed.items() if needs_it)
    others = [("stays", f"{path} (of no package)") for path in change.stays]
    rows = [
        *(("from", f"{s.location}{_much(s.size)}") for s in change.sources),
        *([("needs", needs)] if needs else []),
        *others[:_FEW],
    ]
    if len(others) > _FEW:
        rows.append(("", f"and {len(others) - _FEW} more, see --json"))
    for name, text in rows:
        yield Span(f"{name}:" if name else "", "faint"), Span(text, "faint")


def _much(count: int | None) -> str:
    return f", {size(count)}" if count else ""


_INSTALL_VERDICTS = {
    "planned": "Nothing was changed. Without --dry-run it asks, and does it.",
    "nothing-fits": "Nothing was changed: not everything that was asked for has a wheel that fits.",
    "unread": "Nothing was changed: not everything has a wheel, and a place could not be read.",
    "nothing-to-do": "Everything is there already.",
    "declined": "Nothing was changed.",
    "installed": "Installed and imported.",
    "import-failed": "Installed, but its import fails.",
}


def of_choices(event: ChoiceEvent, *, every: bool) -> Iterator[Block]:
    """Each choice: what, why, from where; `every`: with the reasons against all other wheels."""
    for choice in event.choices:
        yield from _choice(choice, every=every)
    yield from (Prose(note, label="note: ", indent=0) for note in event.notes)


def of_installation(done: Installation) -> Iterator[Block]:
    """The result of the imports, and the verdict."""
    for result in done.imports:
        said = f": {result.error}" if result.error else ""
        yield line(f"import {result.module}: {result.outcome}{said}", indent=2)
    yield Prose(_INSTALL_VERDICTS[done.status], tone="strong", indent=0)
    if done.journal:
        yield line(f"To undo it: tritonwin undo {done.journal}")


def _choice(choice: WheelChoice, *, every: bool) -> Iterator[Block]:
    if choice.file is None:
        yield line(f"{choice.request}: no wheel fits", "bad")
    else:
        has = " is installed" * choice.installed
        yield line(f"{choice.request}: {choice.version}{has}", "strong")
        hashed = f"SHA-256 {choice.sha256[:12]}..." if choice.sha256 else "no hash is known"
        yield line(choice.file, indent=4)
        yield Prose(f"from {choice.source}{_much(choice.size)}, {hashed}", tone="faint")
        if choice.trust:
            yield Prose(choice.trust, label="this place: ", tone="faint")
    yield from (Prose(note, label="note: ") for note in choice.notes)
    groups = choice.grouped()
    shown = groups if every else () if choice.file else groups[:_FEW]
    for reason, files in shown:
        most = len(files) if every else 1
        names = ", ".join(files[:most]) + f" and {len(files) - most} more" * (len(files) > most)
        yield Prose(f"not {names}: {reason}", tone="faint")
    if rest := sum(len(files) for _, files in groups[len(shown) :]):
        others = "others" if choice.file else "more"
        yield line(f"{rest} {others} do not fit: --all shows why", "faint", indent=4)


_FIX_VERDICTS = {
    "healthy": "Nothing has to be done.",
    "planned": "Nothing was changed. Without --dry-run it asks, and does it.",
    "declined": "Nothing was changed.",
    "proven": "Proven: it works now.",
    "stuck": "Not everything could be solved.",
    "undone": "It got worse, so everything was undone.",
}
_RUNNING = "A program that was running all the while keeps what it has loaded: start it again."


def of_fix(facts: Facts, outcome: FixResult) -> Iterator[Block]:
    """Remaining problems, the verdict, and the command that undoes it."""
    if outcome.status not in {"planned", "declined"} and outcome.problems:
        yield from (sections := [*map(section, outcome.problems)])
        yield line(counted(outcome.problems, sections))
    for check in outcome.crashed:
        yield line(f"check {check.id} failed, its problem may be there: {check.detail}", "crashed")
    yield line(_FIX_VERDICTS[outcome.status], "strong")
    if outcome.status == "proven" and outcome.journals:
        yield line(_RUNNING)
    if outcome.snapshot:
        yield line(f"For a bug report, with nothing private in it: {outcome.snapshot}")
    python = word(facts.target.executable) if facts.target else None
    if outcome.journals and outcome.status != "undone":
        one = outcome.journals[0] if len(outcome.journals) == 1 else None
        rounds = one or f"--python {python}" if python else outcome.journals[0]
        yield line("To undo everything:")
        yield CodeBlock(f"tritonwin undo {rounds}")
    if outcome.status == "proven" and facts.target is not None:
        yield line("To keep pip from replacing what was proven:")
        yield CodeBlock(f"tritonwin guard on --python {python or 'PYTHON'}")


def of_event(event: Event, *, every: bool = False) -> Iterator[Block]:
    """An event as it is shown below those before it; downloads are shown in other ways."""
    match event:
        case StepEvent(text=text):
            yield line(text, indent=2)
        case ChoiceEvent():
            yield from of_choices(event, every=every)
        case PlanEvent(plan=plan):
            yield from of_plan(plan)
        case ProofEvent(rungs=rungs):
            yield from of_proof(rungs)


def follow(meter: Meter, event: Event, *, every: bool = False) -> None:
    """Show an event to a person; `every`: with each wheel that was not chosen, and why."""
    if isinstance(event, ProgressEvent):
        meter.update(megabytes(event.done, event.total))
    else:
        meter.show(*of_event(event, every=every))


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


Done = TypeVar("Done", FixResult, Installation)


def carried_out(
    work: Callable[..., Done],
    blocks: Callable[[Done], Iterable[Block]],
    kind: type[FixReport | InstallReport],
    target: Interpreter | None,
    *,
    yes: bool,
    as_json: bool,
    json_lines: bool,
    every_reason: bool = False,
) -> Done:
    """Do the work, and show its events and its outcome in the form that was asked for.

    Args:
        work: takes `agree` and `on_event`.
        blocks: the outcome for people.
        kind: its document.
    """
    writer = EventWriter()
    with Meter() as meter:
        shown = partial(follow, meter, every=every_reason)
        on_event = writer if json_lines else (lambda _: None) if as_json else shown
        done = work(agree=(lambda _: True) if yes else agreed, on_event=on_event)
    report = outcome_report(kind, target, done)
    if json_lines:
        writer.finish(report)
    if as_json:
        print_document(report)
    elif not json_lines:
        show(*blocks(done))
    return done

"""Fix and install for people and for programs: plans, events, downloads and outcomes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.output.blocks import Block, CodeBlock, Fold, Prose, line, pairs
from tritonwin.output.documents import TargetDocument, outcome_report
from tritonwin.output.proof import of_proof
from tritonwin.output.terminal import Meter, agreed, answer
from tritonwin.output.text import few, megabytes, size
from tritonwin.output.view import counted, found
from tritonwin.remedies.plan import Plan
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


@dataclass(frozen=True, kw_only=True)
class FixReport(FixResult, TargetDocument):
    """The document of `tritonwin fix`: the plan of every round, how it ended, what remains."""

    schema: Literal["tritonwin.fix/2"] = "tritonwin.fix/2"


@dataclass(frozen=True, kw_only=True)
class InstallReport(Installation, TargetDocument):
    """The document of `tritonwin install`: every choice with its reasons, and the plan."""

    schema: Literal["tritonwin.install/2"] = "tritonwin.install/2"


@dataclass(frozen=True, kw_only=True)
class OutcomeEvent:
    """The last event: what --json prints."""

    event: Literal["outcome"] = "outcome"
    outcome: FixReport | InstallReport


@dataclass(frozen=True, kw_only=True)
class EventLine:
    """One line of `--json-lines`."""

    schema: Literal["tritonwin.event/3"] = "tritonwin.event/3"
    seconds: float  # since the command began
    event: Event | OutcomeEvent


_FEW = 4  # reasons and names that are shown unless everything is asked for


def of_plan(plan: Plan) -> Iterator[Block]:
    """The changes, numbered in their order, then what stays to be done by hand."""
    if plan.changes:
        yield line(f"Changes to {plan.target}:", "strong")
    for at, change in enumerate(plan.changes, 1):
        yield Prose(change.what, label=f"{at}. ", tone="strong", indent=2)
        yield Prose(change.why, label="why: ", tone="faint", indent=5)
        sources = (("from", f"{s.location}{_much(s.size)}") for s in change.sources)
        needed = {"administrator rights": change.admin, "the network": change.network}
        stays = [f"{path} (of no package)" for path in change.stays]
        rows = (
            *sources,
            *(("needs", name) for name, needs_it in needed.items() if needs_it),
            *(("stays", text) for text in few(stays, _FEW, "more, see --json")),
        )
        yield pairs(rows, indent=3)
        if change.note:
            yield Prose(change.note, label="note: ", indent=5)
    for each in plan.unsolved:
        yield Prose(f"{each.problem}: {each.reason}", label="not solved: ", indent=0)
        if each.help:
            yield Prose(each.help, label="help: ", indent=6)


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


def of_choices(event: ChoiceEvent) -> Iterator[Block]:
    """Each choice: what, why, from where; folded, the reasons against all other wheels."""
    for choice in event.choices:
        yield from _choice(choice)
    yield from (Prose(note, label="note: ", indent=0) for note in event.notes)


def of_installation(done: Installation) -> Iterator[Block]:
    """The result of the imports, and the verdict."""
    for result in done.imports:
        yield line(f"import {result.module}: {result.error or 'imported'}", indent=2)
    yield Prose(_INSTALL_VERDICTS[done.status], tone="strong", indent=0)
    if done.journal:
        yield line(f"To undo it: tritonwin undo {done.journal}")


def _choice(choice: WheelChoice) -> Iterator[Block]:
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
    rejected = [
        Prose(f"{reason}: {', '.join(files)}", most=2, tone="faint") for reason, files in groups
    ]
    shown = 0 if choice.file else _FEW
    yield from rejected[:shown]
    if rest := sum(len(files) for _, files in groups[shown:]):
        title = f"{rest} others do not fit"
        short = line(f"{title}: --all shows why", "faint", indent=4)
        yield Fold(title, tuple(rejected[shown:]), short=(short,))


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
    if outcome.status not in {"planned", "declined"}:
        yield from found(outcome.problems)
        yield from (line(text) for text in counted(outcome.problems))
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


def of_event(event: Event) -> Iterator[Block]:
    """An event as it is shown below those before it; downloads are shown in other ways."""
    match event:
        case StepEvent(text=text):
            yield line(text, indent=2)
        case ChoiceEvent():
            yield from of_choices(event)
        case PlanEvent(plan=plan):
            yield from of_plan(plan)
        case ProofEvent(rungs=rungs):
            yield from of_proof(rungs)


def follow(meter: Meter, event: Event) -> None:
    """Show an event to a person."""
    if isinstance(event, ProgressEvent):
        meter.update(megabytes(event.done, event.total))
    else:
        meter.show(*of_event(event))


_EVERY = 1.0  # seconds between two events of progress


def event_writer() -> Callable[[Event | OutcomeEvent], None]:
    """Writes each event as one line of JSON."""
    began = told = time.monotonic()

    def write(event: Event | OutcomeEvent) -> None:
        nonlocal told
        now = time.monotonic()
        if isinstance(event, ProgressEvent) and now - told < _EVERY:
            return
        told = now
        made = EventLine(seconds=round(now - began, 2), event=event)
        sys.stdout.write(json.dumps(to_json(made)) + "\n")
        sys.stdout.flush()

    return write


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
    everything: bool = False,
) -> Done:
    """Do the work, and show its events and its outcome in the form that was asked for.

    Args:
        work: takes `agree` and `on_event`.
        blocks: the outcome for people.
        kind: its document.
    """
    with Meter(everything=everything) as meter:
        write, ignore = event_writer(), lambda _: None
        on_event = write if json_lines else ignore if as_json else partial(follow, meter)
        done = work(agree=(lambda _: True) if yes else agreed, on_event=on_event)
    report = outcome_report(kind, target, done)
    if json_lines:
        write(OutcomeEvent(outcome=report))
    else:
        answer(report, blocks(done), as_json=as_json)
    return done

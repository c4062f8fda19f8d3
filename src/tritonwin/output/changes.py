"""Fix and install for people and for programs: plans, events, downloads and outcomes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rich.text import Text

from tritonwin.facts.records import Facts
from tritonwin.output.documents import TargetDocument
from tritonwin.output.proof import print_proof
from tritonwin.output.terminal import DownloadBar, console, print_note, print_problem, say
from tritonwin.output.text import few, printable, size
from tritonwin.output.view import counted
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


def print_plan(plan: Plan) -> None:
    """The changes, numbered in their order, then what stays to be done by hand."""
    out = console()
    if plan.changes:
        say(out, f"Changes to {plan.target}:", "bold")
    for number, change in enumerate(plan.changes, 1):
        head = Text(f"{number:>3}. ").append(printable(change.what), "bold")
        out.print(head, soft_wrap=True)
        for line in _details(change):
            say(out, f"       {line}", "dim")
    for each in plan.unsolved:
        say(out, f"not solved: {each.problem}: {each.reason}")
        if each.help:
            say(out, f"      help: {each.help}")


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


def print_choices(event: ChoiceEvent, *, every: bool) -> None:
    """Each choice: what, why, from where; `every`: with the reasons against all other wheels."""
    for choice in event.choices:
        for line, style in _choice(choice, every=every):
            print_note(line, style)
    for note in event.notes:
        print_note(f"note: {note}")


def print_installation(done: Installation) -> None:
    """The result of the imports, and the verdict."""
    for result in done.imports:
        said = f": {result.error}" if result.error else ""
        print_note(f"  import {result.module}: {result.outcome}{said}")
    print_note(_INSTALL_VERDICTS[done.status], "bold")


def _choice(choice: WheelChoice, *, every: bool) -> Iterator[tuple[str, str]]:
    groups = choice.grouped()
    if choice.file is None:
        yield f"{choice.request}: no wheel fits", "bold red"
    else:
        yield f"{choice.request}: {choice.version}" + " is installed" * choice.installed, "bold"
        yield f"    {choice.file}", ""
        much = f", {size(choice.size)}" if choice.size else ""
        hashed = f"SHA-256 {choice.sha256[:12]}..." if choice.sha256 else "no hash is known"
        yield f"    from {choice.source}{much}, {hashed}", "dim"
        if choice.trust:
            yield f"    this place: {choice.trust}", "dim"
    for note in choice.notes:
        yield f"    note: {note}", ""
    shown = groups if every else () if choice.file else groups[:_FEW]
    for reason, files in shown:
        yield f"    not {_named(files, len(files) if every else 1)}: {reason}", "dim"
    rest = sum(len(files) for _, files in groups[len(shown) :])
    if rest:
        yield f"    {rest} {'other' if choice.file else 'more'} do not fit, see --all", "dim"


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


def print_fix(facts: Facts, outcome: FixResult) -> None:
    """Remaining problems, the verdict, and the command that undoes it."""
    out = console()
    if outcome.status not in {"planned", "declined"}:
        for problem in outcome.problems:
            out.print()
            print_problem(out, problem)
        if outcome.problems:
            say(out, counted(outcome.problems))
    for check in outcome.crashed:
        say(out, f"check {check.id} failed, its problem may be there: {check.detail}", "magenta")
    say(out, _FIX_VERDICTS[outcome.status], "bold")
    if outcome.status == "proven" and outcome.journals:
        say(out, _RUNNING)
    if outcome.snapshot:
        text = f"For a bug report, with nothing private in it: {printable(outcome.snapshot)}"
        say(out, text)
    if outcome.journals and outcome.status != "undone":
        say(out, "To undo everything:")
        say(out, f"      {_undo_command(facts, outcome)}", "bold")
    if outcome.status == "proven" and facts.target is not None:
        named = word(facts.target.executable)
        keep = f"tritonwin guard on --python {named or 'PYTHON'}"
        say(out, f"To keep pip from replacing what was proven: {keep}")


def _undo_command(facts: Facts, outcome: FixResult) -> str:
    if len(outcome.journals) == 1 or facts.target is None:
        return f"tritonwin undo {outcome.journals[0]}"
    # all rounds together
    return f'tritonwin undo --python "{facts.target.executable}"'


class ProgressPrinter:
    """Tells a person what happens: each step a line, downloads between them.

    Args:
        every_reason: show every wheel that was not chosen, and why.
    """

    def __init__(self, *, every_reason: bool = False) -> None:
        self.out = console()
        self._every = every_reason
        self._download = DownloadBar(self.out)

    def close(self) -> None:
        """Leave the terminal as it was, also after a download that failed."""
        self._download.end()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ProgressEvent):
            self._download.update(event.done, event.total)
            return
        self._download.end()
        match event:
            case StepEvent(text=text):
                say(self.out, f"  {text}")
            case ChoiceEvent():
                print_choices(event, every=self._every)
            case PlanEvent(plan=plan):
                print_plan(plan)
            case ProofEvent(rungs=rungs):
                print_proof(self.out, rungs)


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

"""`tritonwin fix` for people, and for programs that follow it."""

from __future__ import annotations

import json
import time
from typing import Any

from rich.text import Text

from tritonwin.facts.codec import to_json
from tritonwin.output import plan as plans
from tritonwin.output import proof as proofs
from tritonwin.output.consent import agreed
from tritonwin.output.documents import Event, EventKind, FixReport, InstallReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.output.progress import Download
from tritonwin.output.terminal import console, counted, print_problem
from tritonwin.output.text import printable
from tritonwin.remedies.fix import Outcome
from tritonwin.remedies.plan import Plan
from tritonwin.verify.model import Proof

_EVERY = 1.0  # seconds between two events that tell how far a download is
_VERDICTS = {
    "healthy": "Nothing has to be done.",
    "planned": "Nothing was changed.",
    "declined": "Nothing was changed.",
    "proven": "Proven: it works now.",
    "stuck": "Not everything could be solved.",
    "undone": "It got worse, so everything was given back.",
}


class Person:
    """Tells a person what happens, and asks before anything is changed."""

    def __init__(self, *, yes: bool) -> None:
        self._yes = yes
        self._out = console()
        self._download = Download(self._out)

    def close(self) -> None:
        """Leave the terminal as it was, also after a download that failed."""
        self._download.end()

    def progress(self, done: int, total: int | None) -> None:
        self._download.update(done, total)

    def say(self, text: str) -> None:
        self._download.end()
        self._out.print(Text(f"  {printable(text)}"), soft_wrap=True)

    def show_plan(self, plan: Plan) -> None:
        plans.print_plan(plan)

    def agree(self, question: str) -> bool:
        return self._yes or agreed(question)

    def show_proof(self, proof: Proof) -> None:
        self._download.end()
        for result in proof.results:
            proofs.print_rung(self._out, result)


class Events:
    """Writes what happens as JSON, one object a line, or not at all."""

    def __init__(self, *, json_lines: bool) -> None:
        self._lines = json_lines
        self._began = self._told = time.monotonic()

    def say(self, text: str) -> None:
        self._write("step", text=text)

    def progress(self, done: int, total: int | None) -> None:
        if time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            self._write("progress", done=done, total=total)

    def show_plan(self, plan: Plan) -> None:
        self._write("plan", plan=plan)

    def agree(self, question: str) -> bool:
        self._write("agreed", text=question)
        return True

    def show_proof(self, proof: Proof) -> None:
        self._write("proof", rungs=proof.results)

    def finish(self, document: FixReport | InstallReport) -> None:
        """The last line: what --json prints."""
        self._write("outcome", outcome=document)

    def _write(self, kind: EventKind, **fields: Any) -> None:
        if self._lines:
            seconds = round(time.monotonic() - self._began, 2)
            tree = to_json(Event(event=kind, seconds=seconds, **fields))
            assert isinstance(tree, dict)  # noqa: S101 - a record is an object
            told = {name: value for name, value in tree.items() if value not in (None, [])}
            print(json.dumps(told), flush=True)  # noqa: T201


def report(outcome: Outcome) -> FixReport:
    return FixReport(
        tool=Tool(),
        target=target_of(outcome.facts),
        status=outcome.status,
        plans=outcome.plans,
        journals=outcome.journals,
        before=outcome.before.results if outcome.before else (),
        proof=outcome.proof.results if outcome.proof else (),
        problems=outcome.remaining,
        snapshot=outcome.snapshot,
    )


def print_outcome(outcome: Outcome) -> None:
    """What remains, the verdict, and how to give it back."""
    out = console()
    if outcome.status not in {"planned", "declined"}:
        for problem in outcome.remaining:
            out.print()
            print_problem(out, problem)
        if outcome.remaining:
            out.print(Text(counted(outcome.remaining)), soft_wrap=True)
    out.print(Text(_VERDICTS[outcome.status], "bold"), soft_wrap=True)
    if outcome.snapshot:
        text = f"For a bug report, with nothing private in it: {printable(outcome.snapshot)}"
        out.print(Text(text), soft_wrap=True)
    if outcome.journals and outcome.status != "undone":
        out.print(Text("To give everything back:"), soft_wrap=True)
        out.print(Text(f"      {printable(_undo_command(outcome))}", "bold"), soft_wrap=True)


def _undo_command(outcome: Outcome) -> str:
    if len(outcome.journals) == 1 or outcome.facts.target is None:
        return f"tritonwin undo {outcome.journals[0]}"
    # all rounds together
    return f'tritonwin undo --python "{outcome.facts.target.executable}"'

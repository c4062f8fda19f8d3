"""`tritonwin fix` for people, and for programs that follow it."""

from __future__ import annotations

import json

from rich.text import Text

from tritonwin.facts.codec import to_json
from tritonwin.output import plan as plans
from tritonwin.output import proof as proofs
from tritonwin.output.consent import agreed
from tritonwin.output.documents import FixReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.output.terminal import console, counted, print_problem
from tritonwin.output.text import printable
from tritonwin.remedies.fix import Outcome
from tritonwin.remedies.plan import Plan
from tritonwin.verify.model import Proof

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

    def say(self, text: str) -> None:
        self._out.print(Text(f"  {printable(text)}"), soft_wrap=True)

    def show_plan(self, plan: Plan) -> None:
        plans.print_plan(plan)

    def agree(self, question: str) -> bool:
        return self._yes or agreed(question)

    def show_proof(self, proof: Proof) -> None:
        for result in proof.results:
            proofs.print_rung(self._out, result)


class Events:
    """Writes what happens as JSON, one object a line, or not at all."""

    def __init__(self, *, json_lines: bool) -> None:
        self._lines = json_lines

    def say(self, text: str) -> None:
        self._write("step", text=text)

    def show_plan(self, plan: Plan) -> None:
        self._write("plan", plan=plan)

    def agree(self, question: str) -> bool:
        self._write("agreed", text=question)
        return True

    def show_proof(self, proof: Proof) -> None:
        self._write("proof", rungs=proof.results)

    def finish(self, document: object) -> None:
        """The last line: what --json prints."""
        self._write("outcome", outcome=document)

    def _write(self, event: str, **data: object) -> None:
        if self._lines:
            tree = {"schema": "tritonwin.event/1", "event": event}
            print(json.dumps({**tree, **{k: to_json(v) for k, v in data.items()}}), flush=True)  # noqa: T201


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
        for journal in reversed(outcome.journals):
            out.print(Text(f"      tritonwin undo {journal}", "bold"), soft_wrap=True)

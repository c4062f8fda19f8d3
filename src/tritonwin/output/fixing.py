"""`tritonwin fix` for people, and its document."""

from __future__ import annotations

from rich.text import Text

from tritonwin.output import plan as plans
from tritonwin.output import proof as proofs
from tritonwin.output.consent import agreed
from tritonwin.output.documents import FixReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.output.progress import Teller
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
_RUNNING = "A program that was running all the while keeps what it has loaded: start it again."


class Person(Teller):
    """Tells a person what happens, and asks before anything is changed."""

    def __init__(self, *, yes: bool) -> None:
        super().__init__()
        self._yes = yes

    def show_plan(self, plan: Plan) -> None:
        plans.print_plan(plan)

    def agree(self, question: str) -> bool:
        return self._yes or agreed(question)

    def show_proof(self, proof: Proof) -> None:
        self.end_download()
        for result in proof.results:
            proofs.print_rung(self.out, result)


def report(outcome: Outcome) -> FixReport:
    return FixReport(
        tool=Tool(),
        target=target_of(outcome.facts.target),
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
    if outcome.status == "proven" and outcome.journals:
        out.print(Text(_RUNNING), soft_wrap=True)
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

"""`tritonwin fix` for people, and its document."""

from __future__ import annotations

from rich.text import Text

from tritonwin.facts.records import Facts
from tritonwin.output.documents import FixReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.output.terminal import console, counted, print_problem
from tritonwin.output.text import printable
from tritonwin.remedies.fix import FixResult

_VERDICTS = {
    "healthy": "Nothing has to be done.",
    "planned": "Nothing was changed.",
    "declined": "Nothing was changed.",
    "proven": "Proven: it works now.",
    "stuck": "Not everything could be solved.",
    "undone": "It got worse, so everything was undone.",
}
_RUNNING = "A program that was running all the while keeps what it has loaded: start it again."


def report(facts: Facts, result: FixResult) -> FixReport:
    return FixReport(tool=Tool(), target=target_of(facts.target), **vars(result))


def print_outcome(facts: Facts, outcome: FixResult) -> None:
    """What remains, the verdict, and how to undo it."""
    out = console()
    if outcome.status not in {"planned", "declined"}:
        for problem in outcome.problems:
            out.print()
            print_problem(out, problem)
        if outcome.problems:
            out.print(Text(counted(outcome.problems)), soft_wrap=True)
    out.print(Text(_VERDICTS[outcome.status], "bold"), soft_wrap=True)
    if outcome.status == "proven" and outcome.journals:
        out.print(Text(_RUNNING), soft_wrap=True)
    if outcome.snapshot:
        text = f"For a bug report, with nothing private in it: {printable(outcome.snapshot)}"
        out.print(Text(text), soft_wrap=True)
    if outcome.journals and outcome.status != "undone":
        out.print(Text("To undo everything:"), soft_wrap=True)
        out.print(Text(f"      {printable(_undo_command(facts, outcome))}", "bold"), soft_wrap=True)


def _undo_command(facts: Facts, outcome: FixResult) -> str:
    if len(outcome.journals) == 1 or facts.target is None:
        return f"tritonwin undo {outcome.journals[0]}"
    # all rounds together
    return f'tritonwin undo --python "{facts.target.executable}"'

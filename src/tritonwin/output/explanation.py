"""What `tritonwin explain` prints for people. Quoted lines are foreign text: see output/text.py."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from tritonwin import __version__
from tritonwin.output.terminal import console, counted, print_problem
from tritonwin.output.text import printable
from tritonwin.problems.explain import Explanation
from tritonwin.problems.records import Evidence

_ASK = "To have the machine itself examined, run there: tritonwin doctor"
_SEND = "Or send its facts along with the log: tritonwin snapshot -o report.json"


def print_explanation(explanation: Explanation, name: str) -> None:
    """Print the problems of a log, the root cause first, or where to look if none is known."""
    out = console()
    lines = [f"tritonwin {__version__}", f"{name}: {explanation.lines} lines"]
    if explanation.known:
        lines.append("the log says: " + ", ".join(known.text for known in explanation.known))
    for line in lines:
        out.print(Text(printable(line)), soft_wrap=True)
    for problem in explanation.problems:
        out.print()
        print_problem(out, problem)
    out.print()
    for line in _verdict(explanation):
        out.print(Text(printable(line)), soft_wrap=True)


def _verdict(explanation: Explanation) -> Iterable[str]:
    if not explanation.healthy:
        yield counted(explanation.problems)
        return
    yield "This log shows no problem that tritonwin knows."
    if explanation.suspicious:
        yield "The lines to look at first:"
        yield from map(_line, explanation.suspicious)
        yield _ASK
        yield _SEND


def _line(item: Evidence) -> str:
    return f"    {item.where}: {item.text}"

"""What doctor found, as the text of an issue: the fields of triton-windows' form for bugs."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin import __version__
from tritonwin.facts.records import Facts
from tritonwin.output.environment import described
from tritonwin.output.markdown import fenced, inline
from tritonwin.problems.records import Diagnosis, Problem

_LONGEST_LOG = 40_000  # characters; GitHub takes 65,536 for an issue
_MOST = 8  # problems in full


def markdown(facts: Facts, diagnosis: Diagnosis, log: str | None = None) -> str:
    """The text; what is given must be redacted already.

    Args:
        log: what the program printed; folded, its end where it is too long for an issue.
    """
    return "\n".join(_lines(facts, diagnosis, log)) + "\n"


def _lines(facts: Facts, diagnosis: Diagnosis, log: str | None) -> Iterator[str]:
    yield "### Describe the bug"
    yield ""
    yield "<!-- What did you run, what did you expect, what happened? Put the command here. -->"
    yield ""
    if log is not None:
        yield from _folded("Full log", log)
    yield "### Environment details"
    yield ""
    for name, value in described(facts):
        yield f"{name}: {inline(value)}  "
    yield ""
    yield f"### What tritonwin {__version__} doctor found"
    yield ""
    if diagnosis.healthy:
        yield "Nothing is wrong that its checks can see."
    for problem in diagnosis.problems[:_MOST]:
        yield from _problem(problem)
    for problem in diagnosis.problems[_MOST:]:
        yield f"- {problem.severity} `{problem.id}`: {inline(problem.title)}"


def _problem(problem: Problem) -> Iterator[str]:
    sure = "" if problem.certainty == "certain" else f", {problem.certainty}"
    yield f"- **{problem.severity}{sure}** `{problem.id}`: {inline(problem.title)}"
    for item in problem.evidence:
        yield f"  - {inline(item.text)} (in {inline(item.where)})"


def _folded(title: str, text: str) -> Iterator[str]:
    cut = text if len(text) <= _LONGEST_LOG else f"[...]\n{text[-_LONGEST_LOG:]}"
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield fenced(cut)
    yield ""
    yield "</details>"
    yield ""

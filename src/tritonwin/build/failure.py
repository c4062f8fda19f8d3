"""The reason why a run of a build failed: explain applied to its part of the log.

The log holds what programs printed; what is taken from it into a report goes without secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.problems.explain import explain_lines, explain_stream
from tritonwin.problems.records import Evidence, Explanation, Problem

# Ids of the catalogue whose cure is fewer compilers at once.
OUT_OF_MEMORY = frozenset({"build-resource-limits"})
_KILLED = 128 + 9  # how a keeper passes SIGKILL on; nobody but the system for want of memory
FAILED = "FAILED: "
_MOST_LINES = 20  # of what a failed step printed; templates can print thousands
_LONGEST = 500  # characters of a line
_LINE = re.compile(r"line (\d+)")
_TAIL = 64 * 1024  # bytes of a log in which no step failed


def explanation(log: Path, offset: int, facts: Facts | None) -> Explanation:
    """Explain the log from `offset` on; lines are counted from the beginning of the file."""
    with log.open("rb") as stream:
        before = stream.read(offset).count(b"\n")
        found = explain_stream(stream, facts)
    return replace(
        found,
        problems=tuple(
            replace(problem, evidence=_moved(problem.evidence, before))
            for problem in found.problems
        ),
        known=_moved(found.known, before),
        suspicious=_moved(found.suspicious, before),
    )


def _moved(evidence: Iterable[Evidence], lines: int) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            text=hide_secrets(one.text),
            where=_LINE.sub(lambda m: f"line {int(m[1]) + lines}", one.where),
        )
        for one in evidence
    )


def failed_step(log: Path, offset: int) -> tuple[Evidence, ...]:
    """The output of the first failed step, without its command; empty if none failed."""
    with log.open("rb") as stream:
        number = stream.read(offset).count(b"\n")
        lines = stream.read().decode("utf-8", "replace").splitlines()
    lines = [line.strip() for line in lines]  # pip indents what a build prints
    first = next((n for n, line in enumerate(lines) if line.startswith(FAILED)), None)
    if first is None:
        return ()
    said = list(takewhile(_of_the_step, lines[first + 2 :]))
    shown = [lines[first], *said[:_MOST_LINES]]
    numbers = [first, *range(first + 2, first + 2 + len(said))]
    return tuple(
        Evidence(text=hide_secrets(line[:_LONGEST]), where=f"line {number + n + 1}")
        for n, line in zip(numbers, shown, strict=False)
    )


def _of_the_step(line: str) -> bool:
    return not line.startswith(("[", FAILED, "ninja: "))


def is_out_of_memory(log: Path, offset: int, code: int) -> bool:
    """True if fewer jobs would help, by the output of the first failed step.

    What was said before it was no reason to stop, such as a note that ninja is missing.
    """
    if code == _KILLED:
        return True
    with log.open("rb") as stream:
        stream.seek(offset)
        content = stream.read()
    start = content.find(FAILED.encode())
    text = content[start if start >= 0 else -_TAIL :].decode("utf-8", "replace")
    found = explain_lines(text.splitlines())
    return any(_names_memory(problem) for problem in found.problems)


def _names_memory(problem: Problem) -> bool:
    return bool(OUT_OF_MEMORY & {problem.id, *problem.explains})

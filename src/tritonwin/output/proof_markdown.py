"""The report of `verify` as Markdown, to be put into an issue."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.output.documents import VerifyReport
from tritonwin.output.proof import STATE_WORDS, verdict
from tritonwin.output.text import printable
from tritonwin.verify.model import BROKEN, Proof, RungResult

_MARKS = {"passed": "ok", "not-applicable": "-", "not-installed": "-", "skipped": "-"}


def markdown(report: VerifyReport) -> str:
    """A table of the machine, one of the rungs, and what each broken one said."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: VerifyReport) -> Iterator[str]:
    yield f"<!-- {report.schema} -->"
    yield "## tritonwin verify: " + verdict(Proof(results=report.rungs))
    yield ""
    yield f"{report.tool.name} {report.tool.version}, {report.when or ''}"
    yield ""
    yield "| | |"
    yield "| --- | --- |"
    for name, value in {**report.machine, "kernels compiled for": f"sm_{report.arch}"}.items():
        yield f"| {_cell(name)} | {_cell(value)} |"
    yield ""
    yield "| | rung | result | s | seen |"
    yield "| --- | --- | --- | ---: | --- |"
    for rung in report.rungs:
        mark = _MARKS.get(rung.state, "**X**")
        words = STATE_WORDS[rung.state]
        seconds = f"{rung.seconds:.1f}" if rung.seconds else ""
        yield f"| {mark} | {rung.id} | {words} | {seconds} | {_cell(rung.detail)} |"
    for rung in report.rungs:
        if rung.state in BROKEN:
            yield from _broken(rung)


def _broken(rung: RungResult) -> Iterator[str]:
    yield ""
    yield f"### {rung.id}: {STATE_WORDS[rung.state]}"
    yield ""
    if rung.problems:
        yield "Known problems that it looks like: " + ", ".join(f"`{p}`" for p in rung.problems)
        yield ""
    said = printable_lines(rung.traceback or rung.detail)
    # longer than any run of backticks inside, so that the text cannot end it
    fence = "`" * max(3, _longest_run(said) + 1)
    yield f"{fence}text"
    yield said
    yield fence


def printable_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.splitlines())


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


_LONGEST_CELL = 300
_MEANINGFUL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#~@"})


def _cell(text: str) -> str:
    """Text that a table shows as it is: no markup, no mention of anybody, not too long."""
    shown = printable(" ".join(text.split()))
    cut = shown if len(shown) <= _LONGEST_CELL else f"{shown[:_LONGEST_CELL]}..."
    return cut.translate(_MEANINGFUL)

"""The report of `verify` as Markdown, to be put into an issue."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.output.documents import VerifyReport
from tritonwin.output.markdown import fenced, inline
from tritonwin.output.proof import STATE_WORDS, verdict
from tritonwin.verify.model import BROKEN, Proof, RungResult

_MARKS = {"passed": "ok", "not-applicable": "-", "not-installed": "-", "skipped": "-"}


def markdown(report: VerifyReport) -> str:
    """A table of the machine, one of the rungs, and what each broken one said."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: VerifyReport) -> Iterator[str]:
    yield f"<!-- {report.schema} -->"
    yield "## tritonwin verify: " + verdict(Proof(results=report.rungs), complete=report.complete)
    yield ""
    yield f"{report.tool.name} {report.tool.version}, {report.when or ''}"
    yield ""
    yield "| | |"
    yield "| --- | --- |"
    for name, value in {**report.machine, "kernels compiled for": f"sm_{report.arch}"}.items():
        yield f"| {inline(name)} | {inline(value)} |"
    yield ""
    yield "| | rung | result | s | seen |"
    yield "| --- | --- | --- | ---: | --- |"
    for rung in report.rungs:
        mark = _MARKS.get(rung.state, "**X**")
        words = STATE_WORDS[rung.state]
        seconds = f"{rung.seconds:.1f}" if rung.seconds else ""
        yield f"| {mark} | {rung.id} | {words} | {seconds} | {inline(rung.detail)} |"
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
    yield fenced(rung.traceback or rung.detail)

"""Reports as Markdown, for issues. Foreign text brings no markup, no mention and no end of a block.

A diagnosis fills the fields of triton-windows' form for bugs.
"""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin import __version__
from tritonwin.output.documents import VerifyReport
from tritonwin.output.text import printable
from tritonwin.output.view import DiagnosisView, ProblemView, RungView, of_rung, proof_verdict
from tritonwin.verify.records import Proof

_LONGEST_CELL = 300
_LONGEST_LOG = 40_000  # characters; GitHub takes 65,536 for an issue
_MOST = 8  # problems in full
_MEANINGFUL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#~@"})


def issue(view: DiagnosisView, log: str | None = None) -> str:
    """A diagnosis as the text of an issue; everything must be redacted already.

    Args:
        log: the output of the program; folded, its end where it is too long for an issue.
    """
    return "\n".join(_issue(view, log)) + "\n"


def _issue(view: DiagnosisView, log: str | None) -> Iterator[str]:
    yield "### Describe the bug"
    yield ""
    yield "<!-- What did you run, what did you expect, what happened? Put the command here. -->"
    yield ""
    if log is not None:
        yield from _folded("Full log", log)
    yield "### Environment details"
    yield ""
    for name, value in view.machine:
        yield f"{name}: {inline(value)}  "
    yield ""
    yield f"### What tritonwin {__version__} doctor found"
    yield ""
    if not view.problems or view.healthy:
        yield inline(view.verdict)
    for problem in view.problems[:_MOST]:
        yield from _problem(problem)
    for problem in view.problems[_MOST:]:
        yield f"- {problem.label} `{problem.problem.id}`: {inline(problem.problem.title)}"
    for check in view.checks:
        if check.tone == "crashed":
            yield f"- check failed: {inline(check.check.title)} ({inline(check.check.detail)})"


def _problem(view: ProblemView) -> Iterator[str]:
    problem = view.problem
    yield f"- **{view.label}** `{problem.id}`: {inline(problem.title)}"
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


def proof(report: VerifyReport) -> str:
    """A table of the machine, one of the rungs, and the output of each broken one."""
    return "\n".join(_proof(report)) + "\n"


def _proof(report: VerifyReport) -> Iterator[str]:
    said = proof_verdict(Proof(results=report.rungs), rungs=report.ladder, complete=report.complete)
    rungs = tuple(map(of_rung, report.rungs))
    yield f"<!-- {report.schema} -->"
    yield f"## tritonwin verify: {said}"
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
    for rung in rungs:
        mark = {"good": "ok", "bad": "**X**"}.get(rung.tone, "-")
        seconds = f"{rung.rung.seconds:.1f}" if rung.rung.seconds else ""
        yield f"| {mark} | {rung.rung.id} | {rung.text} | {seconds} | {inline(rung.rung.detail)} |"
    for rung in rungs:
        if rung.tone == "bad":
            yield from _broken(rung)


def _broken(rung: RungView) -> Iterator[str]:
    yield ""
    yield f"### {rung.rung.id}: {rung.text}"
    yield ""
    if rung.problems:
        names = ", ".join(f"`{name}`" for name, _ in rung.problems)
        yield f"Known problems that it looks like: {names}"
        yield ""
    yield fenced("\n".join(rung.lines) or rung.rung.detail)


def inline(text: str) -> str:
    """Text that a line or a table's cell shows as it is, cut where it is too long."""
    shown = printable(" ".join(text.split()))
    cut = shown if len(shown) <= _LONGEST_CELL else f"{shown[:_LONGEST_CELL]}..."
    return cut.translate(_MEANINGFUL)


def fenced(text: str) -> str:
    """A block of text that nothing inside can end."""
    said = "\n".join(printable(line) for line in text.splitlines())
    fence = "`" * max(3, _longest_run(said) + 1)
    return f"{fence}text\n{said}\n{fence}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest

"""Proof for people: each rung as soon as it is known; the reports of `verify` and `bench`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.output.blocks import (
    Block,
    CodeBlock,
    Fold,
    Prose,
    Section,
    Span,
    TextLine,
    Tone,
    line,
    pairs,
)
from tritonwin.output.documents import Document, VerifyReport, target_of
from tritonwin.output.machine import described
from tritonwin.output.terminal import Meter, console, show
from tritonwin.output.view import View, title_of
from tritonwin.system.codec import to_json
from tritonwin.system.files import refuse_foreign, write_text
from tritonwin.verify.records import BROKEN, Proof, Rung, RungResult, RungState, Verdict

if TYPE_CHECKING:
    from tritonwin.facts.redaction.redactor import Redactor

_STATES: Mapping[RungState, tuple[str, Tone]] = {
    "passed": ("ok", "good"),
    "failed": ("FAILED", "bad"),
    "crashed": ("CRASHED", "bad"),
    "timed-out": ("TIMEOUT", "bad"),
    "not-applicable": ("n/a", "absent"),
    "not-installed": ("absent", "absent"),
    "skipped": ("skipped", "warning"),
}
_VERDICTS: Mapping[Verdict, tuple[str, Tone]] = {
    "proven": ("Proven, as far as it could be tried{left_out}.", "good"),
    "gpu-untried": (
        "Not proven: nothing failed, and nothing that needs a GPU was tried.", "warning",
    ),
    "not-proven": ("Not proven.", "bad"),
}  # fmt: skip
_NAMES = 2  # lines of the names of rungs in one state
_WIDTH = max(len(short) for short, _ in _STATES.values())
MARK = "tritonwin.verify/"  # stands in every kind of report


def of_rungs(rungs: Iterable[Rung]) -> Iterator[Block]:
    """The ladder's table of contents."""
    return (
        line(rung.id, "strong", Span(f"  {rung.title}  (at most {rung.limit:g} s)"))
        for rung in rungs
    )


def print_climb(
    facts: Facts,
    results: Iterator[RungResult],
    rungs: Sequence[Rung],
    *,
    ladder: int,
    everything: bool = False,
) -> Proof:
    """Print the results as they come; return them as a proof.

    On a terminal those that passed and those that were not tried are summed up at the end.

    Args:
        rungs: those that are tried.
        ladder: how many the whole ladder has.
        everything: a line for each of them, and the whole output of those that broke.
    """
    each = everything or not console().is_terminal
    if facts.target:
        show(line(f"Python {facts.target.version}  {facts.target.executable}"))
    seen = followed(results, rungs, each=each, everything=everything)
    proof = Proof(results=tuple(seen))
    show(*(() if each else _summed_up(seen)))
    show(Prose(proof_verdict(proof, rungs=ladder), tone="strong", indent=0))
    if not each and len(seen) > 1:
        show(line("A line for each, with what was seen: --all", "faint"))
    return proof


def followed(
    results: Iterator[RungResult], rungs: Sequence[Rung], *, each: bool, everything: bool
) -> list[RungResult]:
    """Show the results as they come, and meanwhile the rung that the next one is of.

    Args:
        each: also those that passed or were not tried.
        everything: with their figures and their whole output.
    """
    seen: list[RungResult] = []
    with Meter(everything=everything) as meter:
        for rung in rungs:
            meter.update(f"{len(seen)} of {len(rungs)}, now: {rung.title}")
            seen.append(next(results))
            if each or seen[-1].state in BROKEN:
                meter.show(*of_rung(seen[-1]))
    return seen


def of_rung(result: RungResult) -> Iterator[Block]:
    """ "ok       a kernel with masks adds two vectors  (65536 numbers)", and folded its figures.

    Of a broken rung its output, and the problems that it looks like.
    """
    yield (
        _broken(result)
        if result.state in BROKEN
        else state_line(result.state, result.title, result.detail)
    )
    if result.figures:
        figures = ((name, str(value)) for name, value in result.figures.items())
        yield Fold("Figures", (pairs(figures, indent=6),))


def _broken(result: RungResult) -> Section:
    short, tone = _STATES[result.state]
    output = (CodeBlock(result.traceback, command=False),) if result.traceback else ()
    causes: list[Block] = []
    for name in result.problems:
        title, where = Span(title_of(name), "strong"), Span(f"  [{name}]", "faint")
        causes.append(line("this looks like: ", "plain", title, where, indent=4))
    if result.problems:
        causes.append(line(f"help: tritonwin doctor --only {result.problems[0]}", indent=4))
    detail = line(result.detail, indent=4)
    return Section(result.id, short, result.title, tone, (detail, *output), tuple(causes))


def state_line(state: RungState, title: str, detail: str) -> TextLine:
    short, tone = _STATES[state]
    told = Span(f"  ({detail})", "faint")
    return line(f"{short.ljust(_WIDTH)}  ", tone, Span(title), told, indent=2)


def of_proof(results: Sequence[RungResult]) -> Iterator[Block]:
    """The broken rungs with the end of their output; the others in a line a state."""
    yield from (_broken(result) for result in results if result.state in BROKEN)
    yield from _summed_up(results)


def _summed_up(results: Sequence[RungResult]) -> Iterator[Block]:
    for state, (short, tone) in _STATES.items():
        names = [result.id for result in results if result.state == state]
        if names and state not in BROKEN:
            label = short.ljust(_WIDTH + 2)
            yield Prose(f"{len(names)}: {', '.join(names)}", label, _NAMES, tone, 2)


def proof_verdict(proof: Proof, *, rungs: int) -> str:
    """ "31 passed, 1 failed, 5 not applicable. Not proven."

    Args:
        rungs: how many the whole ladder has; a report must not claim more than was asked for.
    """
    counts = Counter(result.state for result in proof.results)
    listed = ", ".join(f"{counts[s]} {s.replace('-', ' ')}" for s in _STATES if counts[s])
    left = rungs - len(proof.results)
    left_out = f"; {left} of {rungs} rungs were left out" if left > 0 else ""
    said = _VERDICTS[proof.verdict][0].format(left_out=left_out)
    return f"{listed or 'nothing was tried'}. {said}"


# -- reports

ENDINGS = (".md", ".html", ".json")  # of the names of reports


def verify_report(
    facts: Facts,
    proof: Proof,
    arch: int,
    *,
    chip: str | None = None,
    ladder: int = 0,
) -> VerifyReport:
    return VerifyReport(
        target=target_of(facts.target),
        arch=arch,
        chip=chip,
        proven=proof.verdict == "proven",
        verdict=proof.verdict,
        rungs=proof.results,
        ladder=ladder,
        machine=dict(described(facts)),
        when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def of_report(report: VerifyReport) -> View:
    """The view of a proof: broken rungs, those that passed, and folded what was not tried."""
    broken = [_broken(r) for r in report.rungs if r.state in BROKEN]
    passed = [block for r in report.rungs if r.state == "passed" for block in of_rung(r)]
    other = [r for r in report.rungs if r.state not in {"passed", *BROKEN}]
    left = tuple(state_line(r.state, r.title, r.detail) for r in other)
    return View(
        schema=report.schema,
        headline=proof_verdict(Proof(results=report.rungs), rungs=report.ladder),
        healthy=report.proven,
        tone=_VERDICTS[report.verdict][1],
        machine=(*report.machine.items(), ("kernels for", report.built_for)),
        body=(*broken, *passed, Fold(f"{len(left)} that were not tried", left)),
        here=False,  # it is shown to others, and the way to tritonwin here names the user
        when=report.when,
    )


def refuse_place(path: Path) -> None:
    """Say before the work is done that the report could not be written there.

    Raises:
        UserError: an unknown kind of file, a folder, or a file that is no report of verify.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f"{path} names no kind of report", f"End the name in {', '.join(ENDINGS)}.")
    refuse_foreign(path, MARK)


def write_report(public: VerifyReport, path: Path) -> None:
    """Write it in the form that the name's ending asks for: whole or not at all.

    Args:
        public: redacted already.

    Raises:
        UserError: the file cannot be written.
    """
    from tritonwin.output import html, markdown  # `fix` shows proofs and writes no report

    ending = path.suffix.lower()
    if ending == ".json":
        text = json.dumps(to_json(public), indent=2) + "\n"
    else:
        text = (markdown.report if ending == ".md" else html.report)(of_report(public))
    write_text(path, text)


# -- benchmarks: parts that are run and shown as rungs are


@dataclass(frozen=True, kw_only=True)
class BenchReport(Document):
    """The document of `tritonwin bench`. Units are the last word of a figure's name."""

    schema: Literal["tritonwin.bench/2"] = "tritonwin.bench/2"
    machine: dict[str, str]  # the conditions of the figures, in words
    when: str  # ISO 8601, UTC
    parts: tuple[RungResult, ...]


def bench_report(facts: Facts, parts: Sequence[RungResult], redactor: Redactor) -> BenchReport:
    """The figures with their machine, to be compared with others; nothing private is in it."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    made = BenchReport(machine=dict(described(facts)), when=now, parts=tuple(parts))
    return redactor.record(made)

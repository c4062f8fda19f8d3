"""Proof for people: one line a rung as soon as it is known; the reports of `verify` and `bench`.

On a terminal, a line below names the rung that is waited for, and since when.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.output.blocks import (
    Block,
    CodeBlock,
    Fold,
    Prose,
    Section,
    Span,
    Table,
    TextLine,
    Tone,
    line,
    named,
    pairs,
)
from tritonwin.output.documents import Document, VerifyReport, target_of
from tritonwin.output.machine import described
from tritonwin.output.terminal import Screen, console, show
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
# as a sentence says it
_WORDS: Mapping[RungState, str] = {
    state: state.replace("-", " ").replace("timed out", "ran out of time") for state in _STATES
}
_VERDICTS: Mapping[Verdict, Tone] = {
    "proven": "good", "gpu-untried": "warning", "not-proven": "bad",
}  # fmt: skip
_SHOWN_LINES = 6  # of the output of a broken rung
_NAMES = 2  # lines of the names of rungs in one state
_WIDTH = max(len(short) for short, _ in _STATES.values())
_SOON = 2  # seconds; most rungs are tried before anybody asks
MARK = "tritonwin.verify/"  # stands in every kind of report


def of_rungs(rungs: Iterable[Rung]) -> Iterator[Block]:
    """The ladder's table of contents."""
    return (named(rung.id, f"{rung.title}  (at most {rung.limit:g} s)") for rung in rungs)


def print_climb(
    facts: Facts,
    results: Iterable[RungResult],
    tried: Sequence[Rung],
    *,
    rungs: int,
    everything: bool = False,
) -> Proof:
    """Print the results as they come; return them as a proof.

    On a terminal those that passed and those that were not tried are summed up at the end.

    Args:
        tried: the rungs of the results.
        rungs: how many the whole ladder has.
        everything: a line for each of them.
    """
    from rich.live import Live

    out = console()
    screen = Screen(out)
    each = everything or not out.is_terminal
    seen: list[RungResult] = []
    since = time.monotonic()
    if facts.target:
        screen.show(line(f"Python {facts.target.version}  {facts.target.executable}"))
    shown = Live(
        get_renderable=lambda: _waiting(tried[len(seen) :], time.monotonic() - since),
        console=out,
        refresh_per_second=2,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with shown if out.is_terminal else nullcontext():
        for result in results:
            seen.append(result)
            since = time.monotonic()
            if each:
                screen.show(*of_rung(result))
            elif result.state in BROKEN:
                screen.show(*of_proof((result,)))
    proof = Proof(results=tuple(seen))
    screen.show(*(() if each else of_proof(seen, broken=False)))
    screen.show(Prose(proof_verdict(proof, rungs=rungs), tone="strong", indent=0))
    if not each and len(seen) > 1:
        screen.show(line("A line for each, with what was seen: --all", "faint"))
    return proof


def _waiting(left: Sequence[Rung], seconds: float) -> Text:
    shown = f"  trying   {left[0].title}  ({seconds:.0f} s)" if left and seconds >= _SOON else ""
    return Text(shown, "dim", overflow="crop", no_wrap=True)


def of_rung(result: RungResult, *, most: int | None = None) -> Iterator[Block]:
    """ "ok       a kernel with masks adds two vectors  (65536 numbers)".

    Below a broken rung its output, and what it looks like.

    Args:
        most: lines of the output, the last ones; None: all.
    """
    short, tone = _STATES[result.state]
    detail = Span(f"  ({result.detail})", "faint")
    yield line(f"{short.ljust(_WIDTH)}  ", tone, Span(result.title), detail, indent=2)
    lines = (result.traceback or "").splitlines()
    yield from (line(each, "faint", indent=6) for each in lines[-(most or len(lines)) :])
    yield from _problems(result, indent=6)


def _problems(result: RungResult, *, indent: int = 0) -> Iterator[TextLine]:
    """The problems that a broken rung looks like, and the command that looks for the first."""
    for name in result.problems:
        title, where = Span(title_of(name), "strong"), Span(f"  [{name}]", "faint")
        yield line("this looks like: ", "plain", title, where, indent=indent)
    if result.state in BROKEN and result.problems:
        yield line(f"help: tritonwin doctor --only {result.problems[0]}", indent=indent)


def of_proof(results: Sequence[RungResult], *, broken: bool = True) -> Iterator[Block]:
    """The broken rungs with the end of their output; the others in a line a state.

    Args:
        broken: False: they were shown already.
    """
    for result in results:
        if broken and result.state in BROKEN:
            yield from of_rung(result, most=_SHOWN_LINES)
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
    listed = ", ".join(f"{counts[s]} {word}" for s, word in _WORDS.items() if counts[s])
    left = rungs - len(proof.results)
    left_out = f"; {left} of {rungs} rungs were left out" if left > 0 else ""
    said = {
        "proven": f"Proven, as far as it could be tried{left_out}.",
        "gpu-untried": "Not proven: nothing failed, and nothing that needs a GPU was tried.",
        "not-proven": "Not proven.",
    }[proof.verdict]
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
    tried = [r for r in report.rungs if _STATES[r.state][1] in {"good", "bad"}]
    left = [r for r in report.rungs if r not in tried]
    rows = tuple(
        (Span(_WORDS[r.state], "faint"), Span(r.title), Span(r.detail, "faint")) for r in left
    )
    short = tuple(line(f"{_WORDS[r.state]}: {r.title} ({r.detail})") for r in left)
    return View(
        schema=report.schema,
        headline=proof_verdict(Proof(results=report.rungs), rungs=report.ladder),
        healthy=report.proven,
        tone=_VERDICTS[report.verdict],
        machine=(*report.machine.items(), ("kernels for", report.built_for)),
        sections=tuple(map(_section, sorted(tried, key=lambda r: r.state not in BROKEN))),
        checks=Fold(f"{len(left)} that were not tried", (Table(rows),), short) if left else None,
        when=report.when,
    )


def _section(result: RungResult) -> Section:
    """A rung: its result, the end of the program's output, and what it looks like."""
    seconds = f"  {result.seconds:.1f} s" if result.seconds else ""
    body: list[Block] = [line(result.detail, "plain", Span(seconds, "faint"))]
    if result.traceback:
        body.append(CodeBlock(result.traceback.rstrip("\n"), command=False))
    figures = pairs((name, str(value)) for name, value in result.figures.items())
    further = (figures,) if result.figures else ()
    body.append(Fold("More", (line(f"Proves: {result.proves}."), *further)))
    return Section(
        name=result.id,
        label=_WORDS[result.state],
        title=result.title,
        tone=_STATES[result.state][1],
        body=tuple(body),
        remedy=tuple(_problems(result)),
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


_FIGURE = 24


def bench_report(facts: Facts, parts: Sequence[RungResult], redactor: Redactor) -> BenchReport:
    """The figures with their machine, to be compared with others; nothing private is in it."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    made = BenchReport(machine=dict(described(facts)), when=now, parts=tuple(parts))
    return redactor.record(made)


def print_parts(facts: Facts, parts: Iterable[RungResult]) -> list[RungResult]:
    """Print each part as it comes; return them all."""
    show(*(line(f"{name:<10}{value}") for name, value in described(facts)))
    seen = []
    for part in parts:
        show(*of_rung(part))
        for name, value in part.figures.items():
            show(line(f"{name:<{_FIGURE}}{value}", indent=8))
        seen.append(part)
    return seen

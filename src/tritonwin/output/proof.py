"""Proof for people: one line a rung as soon as it is known; the reports of `verify` and `bench`.

On a terminal, lines below tell which rungs are tried, and since when.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.text import Text

from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.output.blocks import Block, Prose, Span, line, named
from tritonwin.output.documents import Document, VerifyReport, target_of
from tritonwin.output.machine import described
from tritonwin.output.terminal import Screen, console, show
from tritonwin.output.view import RUNGS, proof_verdict, rung_problems
from tritonwin.system.codec import to_json
from tritonwin.system.files import refuse_foreign, write_text
from tritonwin.verify.records import BROKEN, Proof, Rung, RungResult

if TYPE_CHECKING:
    from tritonwin.facts.redaction.redactor import Redactor
    from tritonwin.verify.ladder import ClimbWatch

_SHOWN_LINES = 6  # of the output of a broken rung
_NAMES = 2  # lines of the names of rungs in one state
_WIDTH = max(len(short) for short, _ in RUNGS.values())
_SOON = 2  # seconds; most rungs are tried before anybody asks
MARK = "tritonwin.verify/"  # stands in every kind of report


def of_rungs(rungs: Iterable[Rung]) -> Iterator[Block]:
    """The ladder's table of contents."""
    return (named(rung.id, f"{rung.title}  (at most {rung.limit:g} s)") for rung in rungs)


def print_climb(
    facts: Facts,
    results: Iterable[RungResult],
    watch: ClimbWatch,
    *,
    rungs: int,
    everything: bool = False,
) -> Proof:
    """Print the results as they come; return them as a proof.

    On a terminal those that passed and those that were not tried are summed up at the end.

    Args:
        rungs: how many the whole ladder has.
        everything: a line for each of them.
    """
    out = console()
    screen = Screen(out)
    each = everything or not out.is_terminal
    seen: list[RungResult] = []
    if facts.target:
        screen.show(line(f"Python {facts.target.version}  {facts.target.executable}"))
    with _shown(watch, out):
        for result in results:
            seen.append(result)
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


class _Meanwhile:
    """Drawn again several times a second, by a thread of rich."""

    def __init__(self, watch: ClimbWatch) -> None:
        self._watch = watch

    def __rich__(self) -> Text:
        rows = (
            f"  trying   {title}  ({seconds:.0f} s)"
            for title, seconds in self._watch.now()
            if seconds >= _SOON
        )
        return Text("\n".join(rows), "dim", overflow="crop", no_wrap=True)


@contextmanager
def _shown(watch: ClimbWatch, out: Console) -> Iterator[None]:
    if not out.is_terminal:
        yield
        return
    from rich.live import Live

    with Live(
        _Meanwhile(watch),
        console=out,
        refresh_per_second=2,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


def of_rung(result: RungResult, *, most: int | None = None) -> Iterator[Block]:
    """ "ok       a kernel with masks adds two vectors  (65536 numbers)".

    Below a broken rung its output, and what it looks like.

    Args:
        most: lines of the output, the last ones; None: all.
    """
    short, tone = RUNGS[result.state]
    detail = Span(f"  ({result.detail})", "faint")
    yield line(f"{short.ljust(_WIDTH)}  ", tone, Span(result.title), detail, indent=2)
    lines = (result.traceback or "").splitlines()
    yield from (line(each, "faint", indent=6) for each in lines[-(most or len(lines)) :])
    yield from rung_problems(result, indent=6)


def of_proof(results: Sequence[RungResult], *, broken: bool = True) -> Iterator[Block]:
    """The broken rungs with the end of their output; the others in a line a state.

    Args:
        broken: False: they were shown already.
    """
    for result in results:
        if broken and result.state in BROKEN:
            yield from of_rung(result, most=_SHOWN_LINES)
    for state, (short, tone) in RUNGS.items():
        names = [result.id for result in results if result.state == state]
        if names and state not in BROKEN:
            label = short.ljust(_WIDTH + 2)
            yield Prose(f"{len(names)}: {', '.join(names)}", label, _NAMES, tone, 2)


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
        text = markdown.proof(public) if ending == ".md" else html.proof_page(public)
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

"""Benchmarks for people and for programs, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output.blocks import Span, Table, TextLine, line
from tritonwin.output.documents import Document
from tritonwin.output.machine import described
from tritonwin.output.proof import of_rung
from tritonwin.output.terminal import show
from tritonwin.output.view import STATE_WORDS
from tritonwin.system.codec import DecodeError, from_json, parse
from tritonwin.system.files import encoding_of, read_bytes
from tritonwin.verify.bench import Comparison
from tritonwin.verify.records import RungResult


@dataclass(frozen=True, kw_only=True)
class BenchReport(Document):
    """The document of `tritonwin bench`. Units are the last word of a figure's name."""

    schema: Literal["tritonwin.bench/2"] = "tritonwin.bench/2"
    machine: dict[str, str]  # the conditions of the figures, in words
    when: str  # ISO 8601, UTC
    parts: tuple[RungResult, ...]


@dataclass(frozen=True, kw_only=True)
class BenchComparison(Document):
    """The document of `tritonwin bench --compare A B`."""

    schema: Literal["tritonwin.bench-comparison/2"] = "tritonwin.bench-comparison/2"
    first: dict[str, str]
    second: dict[str, str]
    figures: tuple[Comparison, ...]


_WIDTH = 24


def report(facts: Facts, parts: Sequence[RungResult], redactor: Redactor) -> BenchReport:
    """The file that is compared with one of another machine, without what is private."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    made = BenchReport(machine=dict(described(facts)), when=now, parts=tuple(parts))
    return redactor.record(made)


def read(path: Path) -> BenchReport:
    """The benchmark in a file that `tritonwin bench --json` wrote.

    Raises:
        UserError: missing, or something else.
    """
    data = read_bytes(path)
    if data is None:
        raise UserError(f"cannot read {path}", "Make one: tritonwin bench --json > FILE")
    try:
        return from_json(BenchReport, parse(data.decode(encoding_of(data), "replace")))
    except (DecodeError, ValueError) as error:
        raise UserError(
            f"{path} is no benchmark: {error}", "Make one: tritonwin bench --json > FILE"
        ) from None


def print_parts(facts: Facts, parts: Iterable[RungResult]) -> list[RungResult]:
    """Print each part as it comes; return them all."""
    show(*_machine(dict(described(facts))))
    seen = []
    for part in parts:
        show(*of_rung(part))
        for name, value in part.figures.items():
            show(line(f"{name:<{_WIDTH}}{value}", indent=8))
        seen.append(part)
    return seen


def print_comparison(first: BenchReport, second: BenchReport, rows: Sequence[Comparison]) -> None:
    both = (("first", first), ("second", second))
    for name, each in both:
        show(line(f"{name}, {each.when}", "strong"), *_machine(each.machine))
    head = ("part", "figure", "first", "second", "second/first")
    show(Table(tuple(map(_compared, rows)), head))
    for name, each in both:
        for part in each.parts:
            if part.state != "passed":
                text = f"{part.id} of the {name}: {STATE_WORDS[part.state]} ({part.detail})"
                show(line(text, "warning"))
    if not rows:
        show(line("There is no figure that both hold."))


def _compared(row: Comparison) -> tuple[Span, ...]:
    same = "same" if row.first == row.second else "differs"
    last = same if row.ratio is None else f"{row.ratio:.3f}"
    return tuple(Span(str(cell)) for cell in (row.part, row.figure, row.first, row.second, last))


def _machine(machine: Mapping[str, str]) -> tuple[TextLine, ...]:
    return tuple(line(f"{name:<10}{value}") for name, value in machine.items())

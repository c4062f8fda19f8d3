"""Benchmarks for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output.blocks import line
from tritonwin.output.documents import Document
from tritonwin.output.machine import described
from tritonwin.output.proof import of_rung
from tritonwin.output.terminal import show
from tritonwin.verify.records import RungResult


@dataclass(frozen=True, kw_only=True)
class BenchReport(Document):
    """The document of `tritonwin bench`. Units are the last word of a figure's name."""

    schema: Literal["tritonwin.bench/2"] = "tritonwin.bench/2"
    machine: dict[str, str]  # the conditions of the figures, in words
    when: str  # ISO 8601, UTC
    parts: tuple[RungResult, ...]


_WIDTH = 24


def report(facts: Facts, parts: Sequence[RungResult], redactor: Redactor) -> BenchReport:
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
            show(line(f"{name:<{_WIDTH}}{value}", indent=8))
        seen.append(part)
    return seen

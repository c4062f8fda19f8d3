"""Benchmarks for people and for programs, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.output.documents import ToolInfo
from tritonwin.output.proof import print_rung
from tritonwin.output.terminal import console, say
from tritonwin.output.text import printable
from tritonwin.output.view import STATE_WORDS
from tritonwin.system.codec import DecodeError, from_json, parse
from tritonwin.system.files import encoding_of, read_bytes
from tritonwin.verify.bench import BenchMachine, Benchmark, Comparison
from tritonwin.verify.records import RungResult


@dataclass(frozen=True, kw_only=True)
class BenchReport:
    """The document of `tritonwin bench`."""

    schema: Literal["tritonwin.bench/1"] = "tritonwin.bench/1"
    tool: ToolInfo
    benchmark: Benchmark


@dataclass(frozen=True, kw_only=True)
class BenchComparison:
    """The document of `tritonwin bench --compare A B`."""

    schema: Literal["tritonwin.bench-comparison/1"] = "tritonwin.bench-comparison/1"
    tool: ToolInfo
    first: BenchMachine
    second: BenchMachine
    figures: tuple[Comparison, ...]


_WIDTH = 24


def report(benchmark: Benchmark, redactor: Redactor) -> BenchReport:
    """The file that is compared with one of another machine, without what is private."""
    return redactor.record(BenchReport(tool=ToolInfo(), benchmark=benchmark))


def comparison(first: Benchmark, second: Benchmark, rows: Sequence[Comparison]) -> BenchComparison:
    return BenchComparison(
        tool=ToolInfo(), first=first.machine, second=second.machine, figures=tuple(rows)
    )


def read(path: Path) -> Benchmark:
    """The benchmark in a file that `tritonwin bench --json` wrote.

    Raises:
        UserError: missing, or something else.
    """
    data = read_bytes(path)
    if data is None:
        raise UserError(f"cannot read {path}", "Make one: tritonwin bench --json > FILE")
    try:
        return from_json(BenchReport, parse(data.decode(encoding_of(data), "replace"))).benchmark
    except (DecodeError, ValueError) as error:
        raise UserError(
            f"{path} is no benchmark: {error}", "Make one: tritonwin bench --json > FILE"
        ) from None


def print_parts(benchmark_machine: BenchMachine, parts: Iterable[RungResult]) -> list[RungResult]:
    """Print each part as it comes; return them all."""
    out = console()
    _print_machine(out, benchmark_machine)
    seen = []
    for part in parts:
        print_rung(out, part)
        for name, value in part.figures.items():
            out.print(f"        {name:<{_WIDTH}}{printable(str(value))}", highlight=False)
        seen.append(part)
    return seen


def print_comparison(first: Benchmark, second: Benchmark, rows: Sequence[Comparison]) -> None:
    out = console()
    for name, each in (("first", first), ("second", second)):
        out.print(f"{name}, {each.when}", style="bold", highlight=False)
        _print_machine(out, each.machine)
    head = f"{'part':<17} {'figure':<{_WIDTH}} {'first':>18} {'second':>18}  second/first"
    say(out, head, "bold")
    for row in rows:
        cells = f"{row.part:<17} {row.figure:<{_WIDTH}} {row.first!s:>18} {row.second!s:>18}"
        same = "same" if row.first == row.second else "differs"
        last = f"{row.ratio:.3f}" if row.ratio is not None else same
        say(out, f"{cells}  {last}")
    for name, each in (("first", first), ("second", second)):
        for part in each.parts:
            if part.state != "passed":
                text = f"{part.id} of the {name}: {STATE_WORDS[part.state]} ({part.detail})"
                say(out, text, "yellow")
    if not rows:
        say(out, "There is no figure that both hold.")


def _print_machine(out: Console, machine: BenchMachine) -> None:
    gpu = (
        f"{machine.gpu} ({machine.capability}), driver {machine.driver}"
        if machine.gpu
        else "no GPU"
    )
    text = f"{gpu}; {machine.os}; Python {machine.python}; Triton {machine.triton}"
    say(out, f"{text}; torch {machine.torch or 'absent'}")

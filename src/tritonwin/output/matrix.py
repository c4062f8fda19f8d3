"""The matrix of torch, Triton and GPUs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.table import Table
from rich.text import Text

from tritonwin.output.documents import ToolInfo
from tritonwin.output.terminal import console, wrapped
from tritonwin.support.matrix import Generation, Matrix, Pair


@dataclass(frozen=True, kw_only=True)
class MatrixReport:
    """The document of `tritonwin matrix`."""

    schema: Literal["tritonwin.matrix/1"] = "tritonwin.matrix/1"
    tool: ToolInfo
    matrix: Matrix


def report(matrix: Matrix) -> MatrixReport:
    return MatrixReport(tool=ToolInfo(), matrix=matrix)


def print_matrix(matrix: Matrix) -> None:
    """The tables one below the other, then the notes; every row's source is in the JSON."""
    out = console()
    for title, table in (
        ("torch and Triton", _pairs(matrix)),
        ("NVIDIA GPUs", _generations(matrix.generations)),
        ("number formats", _dtypes(matrix)),
        ("compilers of CUDA code (MSVC toolset that nvcc accepts)", _hosts(matrix)),
    ):
        out.print(Text(title, "bold"))
        out.print(table)
        out.print()
    for generation in matrix.generations:
        if generation.advice:
            wrapped(out, f"{generation.name}: {generation.advice}")
    for note in matrix.notes:
        wrapped(out, f"{note.subject}: {note.text}")
    out.print()
    out.print(Text(f"State of {matrix.data_date}. Sources: tritonwin matrix --json", "dim"))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(cell or "-" for cell in row))
    return table


def _pairs(matrix: Matrix) -> Table:
    def row(pair: Pair) -> Sequence[str | None]:
        release = matrix.release(pair.windows) if pair.windows else None
        if release is None:
            return (pair.torch, pair.triton, "none yet", None, None, None)
        pythons = f"{release.pythons[0]} to {release.pythons[-1]}"
        platforms = ", ".join(release.platforms)
        return (pair.torch, pair.triton, release.newest, pythons, release.bundled_cuda, platforms)

    headings = ("torch", "Triton", "triton-windows", "Python", "CUDA inside", "platforms")
    return _table(headings, map(row, matrix.pairs))


def _generations(generations: Iterable[Generation]) -> Table:
    def row(item: Generation) -> Sequence[str | None]:
        partly = f"{item.triton_partly} in part" if item.triton_partly else None
        triton = ", ".join(r for r in (item.triton, partly) if r)
        fits = f"{item.start} to below {item.below}"
        bf16, fp8 = ("yes" if has else "no" for has in (item.bf16, item.fp8))
        return (item.name, item.examples, fits, triton, item.torch, item.cuda, bf16, fp8)

    headings = ("generation", "for example", "capability", "Triton", "torch", "CUDA", "bf16", "fp8")
    return _table(headings, map(row, generations))


def _dtypes(matrix: Matrix) -> Table:
    rows = (
        (d.name, f"{d.capability} on", ", ".join(d.emulated.values()), d.text)
        for d in matrix.dtypes
    )
    return _table(("format", "capability", "converted since triton-windows", "remark"), rows)


def _hosts(matrix: Matrix) -> Table:
    return _table(("CUDA", "MSVC"), ((h.cuda, h.msvc) for h in matrix.nvcc_hosts))

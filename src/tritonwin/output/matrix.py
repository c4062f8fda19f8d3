"""The matrix of torch, Triton and GPUs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tritonwin.output.blocks import Block, Prose, Span, Table, TextLine, line
from tritonwin.output.documents import Document
from tritonwin.support.matrix import Generation, Matrix, Pair


@dataclass(frozen=True, kw_only=True)
class MatrixReport(Document):
    """The document of `tritonwin matrix`."""

    schema: Literal["tritonwin.matrix/1"] = "tritonwin.matrix/1"
    matrix: Matrix


def of_matrix(matrix: Matrix) -> Iterator[Block]:
    """The tables one below the other, then the notes; every row's source is in the JSON."""
    formats = (
        (d.name, f"{d.capability} on", ", ".join(d.emulated.values()), d.text)
        for d in matrix.dtypes
    )
    hosts = _table(("CUDA", "MSVC"), ((h.cuda, h.msvc) for h in matrix.nvcc_hosts))
    heads = ("format", "capability", "converted since triton-windows", "remark")
    for title, table in (
        ("torch and Triton", _pairs(matrix)),
        ("NVIDIA GPUs", _generations(matrix.generations)),
        ("number formats", _table(heads, formats)),
        ("compilers of CUDA code (MSVC toolset that nvcc accepts)", hosts),
    ):
        yield from (line(title, "strong"), table, TextLine())
    advice = ((g.name, g.advice) for g in matrix.generations if g.advice)
    for subject, text in (*advice, *((note.subject, note.text) for note in matrix.notes)):
        yield Prose(text, label=f"{subject}: ")
    yield TextLine()
    yield line(f"State of {matrix.data_date}. Sources: tritonwin matrix --json", "faint")


def _table(headings: tuple[str, ...], rows: Iterable[Sequence[str | None]]) -> Table:
    return Table(tuple(tuple(Span(cell or "-") for cell in row) for row in rows), headings)


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

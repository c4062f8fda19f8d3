"""The matrix of torch, Triton and GPUs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tritonwin.output.blocks import Block, Prose, Span, Table, TextLine, line
from tritonwin.output.documents import Document
from tritonwin.support.matrix import Generation, Matrix


@dataclass(frozen=True, kw_only=True)
class MatrixReport(Document):
    """The document of `tritonwin matrix`."""

    schema: Literal["tritonwin.matrix/1"] = "tritonwin.matrix/1"
    matrix: Matrix


def of_matrix(matrix: Matrix) -> Iterator[Block]:
    """The tables one below the other, then the notes; every row's source is in the JSON."""
    formats = (
        (d.name, f"{d.capability} on", ", ".join(d.emulated.values())) for d in matrix.dtypes
    )
    hosts = ((h.cuda, h.msvc) for h in matrix.nvcc_hosts)
    pairs = ("torch", "Triton", "triton-windows", "Python", "CUDA inside", "platforms")
    for title, headings, rows in (
        ("torch and Triton", pairs, _pairs(matrix)),
        (
            "NVIDIA GPUs",
            ("generation", "for example", "from", "torch", "CUDA", "Triton"),
            map(_generation, matrix.generations),
        ),
        ("number formats", ("format", "capability", "converted since triton-windows"), formats),
        ("compilers of CUDA code (MSVC toolset that nvcc accepts)", ("CUDA", "MSVC"), hosts),
    ):
        head = tuple(Span(heading, "faint") for heading in headings)
        cells = (tuple(Span(cell or "-") for cell in row) for row in rows)
        yield from (line(title, "strong"), Table((head, *cells)), TextLine())
    advice = ((g.name, g.advice) for g in matrix.generations if g.advice)
    remarks = ((d.name, d.text) for d in matrix.dtypes)
    notes = ((note.subject, note.text) for note in matrix.notes)
    for subject, text in (*advice, *remarks, *notes):
        yield Prose(text, label=f"{subject}: ")
    yield TextLine()
    yield line(f"State of {matrix.data_date}. Sources: tritonwin matrix --json", "faint")


def _pairs(matrix: Matrix) -> Iterator[Sequence[str | None]]:
    for pair in matrix.pairs:
        release = matrix.release(pair.windows) if pair.windows else None
        if release is None:
            yield pair.torch, pair.triton, "none yet", None, None, None
        else:
            pythons = f"{release.pythons[0]} to {release.pythons[-1]}"
            platforms = ", ".join(release.platforms)
            found = (release.newest, pythons, release.bundled_cuda, platforms)
            yield pair.torch, pair.triton, *found


def _generation(item: Generation) -> Sequence[str | None]:
    partly = f"{item.triton_partly} in part" if item.triton_partly else None
    triton = ", ".join(filter(None, (item.triton, partly)))
    return item.name, item.examples, item.start, item.torch, item.cuda, triton

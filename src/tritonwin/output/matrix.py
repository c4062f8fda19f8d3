"""The matrix of torch, Triton and GPUs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tritonwin.output.blocks import Block, Prose, Span, Table, TextLine, line
from tritonwin.output.documents import Document
from tritonwin.support.matrix import Matrix


@dataclass(frozen=True, kw_only=True)
class MatrixReport(Document):
    """The document of `tritonwin matrix`."""

    schema: Literal["tritonwin.matrix/1"] = "tritonwin.matrix/1"
    matrix: Matrix


def of_matrix(matrix: Matrix) -> Iterator[Block]:
    """The tables one below the other, then the notes; every row's source is in the JSON."""
    tables: tuple[tuple[str, Sequence[object], tuple[str, ...]], ...] = (
        (
            "torch, Triton and series of triton-windows",
            matrix.pairs,
            ("torch", "triton", "windows"),
        ),
        (
            "triton-windows",
            matrix.releases,
            ("series", "newest", "bundled_cuda", "platforms", "pythons"),
        ),
        (
            "NVIDIA GPUs, from a compute capability on",
            matrix.generations,
            ("name", "examples", "start", "torch", "cuda", "triton", "triton_partly"),
        ),
        (
            "number formats, and since which triton-windows older GPUs convert them",
            matrix.dtypes,
            ("name", "capability", "emulated"),
        ),
        ("MSVC toolsets that nvcc accepts", matrix.nvcc_hosts, ("cuda", "msvc")),
    )
    for title, records, columns in tables:
        head = tuple(Span(column.replace("_", " "), "faint") for column in columns)
        rows = (tuple(_cell(getattr(each, column)) for column in columns) for each in records)
        yield from (line(title, "strong"), Table((head, *rows)), TextLine())
    advice = ((g.name, g.advice) for g in matrix.generations if g.advice)
    remarks = ((d.name, d.text) for d in matrix.dtypes)
    notes = ((note.subject, note.text) for note in matrix.notes)
    for subject, text in (*advice, *remarks, *notes):
        yield Prose(text, label=f"{subject}: ")
    yield TextLine()
    yield line(f"State of {matrix.data_date}. Sources: tritonwin matrix --json", "faint")


def _cell(value: str | Mapping[str, str] | tuple[str, ...] | None) -> Span:
    texts = value.values() if isinstance(value, Mapping) else value
    return Span((texts if isinstance(texts, str) else ", ".join(texts or ())) or "-")

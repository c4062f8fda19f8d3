"""What fits what: torch, Triton, Python, CUDA, GPU generation, number format and compiler.

From `matrix.toml`, which `tools/refresh_matrix.py` writes, and `hardware.toml`, written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.version import Version

from tritonwin.support.versions import fits, parse, series
from tritonwin.system import toml


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A series of torch and the series of Triton that it asks for."""

    torch: str
    triton: str
    windows: str | None  # series of triton-windows that serves it; None: none is released yet
    source: str


@dataclass(frozen=True, kw_only=True)
class Release:
    """A series of triton-windows on the package index."""

    series: str
    newest: str
    pythons: tuple[str, ...]
    bundled_cuda: str
    source: str
    platforms: tuple[str, ...] = ("win_amd64",)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """GPUs of compute capability `start` up to, not including, `below`."""

    name: str
    examples: str
    start: str
    below: str
    source: str
    triton: str | None = None  # range in which everything works
    triton_partly: str | None = None  # range in which simple kernels do
    torch: str | None = None
    cuda: str | None = None
    bf16: bool = False
    fp8: bool = False
    advice: str | None = None  # what still works, where not everything does


@dataclass(frozen=True, kw_only=True)
class NvccHost:
    """MSVC toolsets that the nvcc of a CUDA range accepts."""

    cuda: str
    msvc: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Dtype:
    """A number format that kernels compute with."""

    name: str
    capability: str  # the lowest compute capability that has it
    text: str
    source: str
    emulated: dict[str, str] = field(default_factory=dict)  # series -> first release


@dataclass(frozen=True, kw_only=True)
class Note:
    """What else is known of Triton on Windows: other GPUs, platforms, tools."""

    subject: str
    text: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Matrix:
    data_date: str
    ptxas_since: str
    tinycc_since: str
    pairs: tuple[Pair, ...]
    releases: tuple[Release, ...]
    generations: tuple[Generation, ...]
    nvcc_hosts: tuple[NvccHost, ...]
    dtypes: tuple[Dtype, ...]
    notes: tuple[Note, ...]

    def pair(self, torch_version: str) -> Pair | None:
        """The row of that torch; None when the table does not know its series."""
        wanted = series(torch_version)
        return next((p for p in self.pairs if p.torch == wanted), None)

    def release(self, triton_series: str) -> Release | None:
        return next((r for r in self.releases if r.series == triton_series), None)

    def newest_release(self) -> Release:
        return max(self.releases, key=lambda r: Version(r.series))

    def generation(self, compute_capability: str) -> Generation | None:
        """The generation of "8.9"; None for what is newer than the table or no version."""
        version = parse(compute_capability)
        if version is None:
            return None
        return next(
            (g for g in self.generations if Version(g.start) <= version < Version(g.below)), None
        )

    def dtype(self, name: str) -> Dtype:
        return next(d for d in self.dtypes if d.name == name)

    def nvcc_host(self, cuda_version: str) -> NvccHost | None:
        return next((h for h in self.nvcc_hosts if fits(cuda_version, h.cuda)), None)


@cache
def load() -> Matrix:
    """The shipped tables.

    Raises:
        TypeError, KeyError: a table has a wrong row; tests keep that from being shipped.
    """
    return read(_text("matrix.toml"), _text("hardware.toml"))


def _text(file: str) -> str:
    return files("tritonwin.support").joinpath(file).read_text("utf-8")


def read(matrix_toml: str, hardware_toml: str) -> Matrix:
    """Build the matrix from the texts of its two files; raises as `load` does."""
    pairs: dict[str, Any] = toml.loads(matrix_toml)
    hardware: dict[str, Any] = toml.loads(hardware_toml)
    return Matrix(
        data_date=pairs["data_date"],
        ptxas_since=hardware["ptxas_since"],
        tinycc_since=hardware["tinycc_since"],
        pairs=tuple(Pair(**{"windows": None, **row}) for row in pairs["pair"]),
        releases=tuple(
            Release(
                **{
                    **row,
                    "pythons": tuple(row["pythons"]),
                    "platforms": tuple(row["platforms"]),
                }
            )
            for row in pairs["release"]
        ),
        generations=tuple(
            Generation(**{"start" if k == "from" else k: v for k, v in row.items()})
            for row in hardware["generation"]
        ),
        nvcc_hosts=tuple(NvccHost(**row) for row in hardware["nvcc_host"]),
        dtypes=tuple(Dtype(**row) for row in hardware["dtype"]),
        notes=tuple(Note(**row) for row in hardware["note"]),
    )

"""Tables of what fits together: torch, Triton, Python, CUDA, GPUs, number formats, compilers.

From `matrix.toml`, which `tools/refresh.py` writes, and `hardware.toml`, written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from packaging.version import Version

from tritonwin.facts.records import Torch
from tritonwin.support.versions import fits, parse, series
from tritonwin.system.codec import from_valid
from tritonwin.system.toml import shipped


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A series of torch and the series of Triton that it asks for."""

    torch: str
    triton: str
    windows: str | None = None  # series of triton-windows that serves it; None: not released yet
    source: str


@dataclass(frozen=True, kw_only=True)
class Release:
    """A series of triton-windows on the package index."""

    series: str
    newest: str
    pythons: tuple[str, ...]
    bundled_cuda: str
    source: str
    platforms: tuple[str, ...]


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
    advice: str | None = None  # what still works, where not everything does

    def works(self, triton: str) -> Literal["whole", "partly", "not"]:
        """The part of a Triton that works on such a GPU."""
        if self.triton and fits(triton, self.triton):
            return "whole"
        return "partly" if self.triton_partly and fits(triton, self.triton_partly) else "not"


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

    def emulated_by(self, release: str) -> bool:
        """True for a release of triton-windows that converts it on older GPUs."""
        version = parse(release)
        newest = max(self.emulated.values(), key=Version, default="")
        since = parse(self.emulated.get(series(release) or "", newest))
        return version is not None and since is not None and version >= since


@dataclass(frozen=True, kw_only=True)
class Note:
    """Other knowledge of Triton on Windows: other GPUs, platforms, tools."""

    subject: str
    text: str
    source: str


@dataclass(frozen=True, kw_only=True)
class TorchTag:
    """One of torch's indexes: builds for `cuda` with kernels for the GPUs in `capability`."""

    tag: str
    cuda: str
    capability: str
    source: str


@dataclass(frozen=True, kw_only=True)
class AmdIndexes:
    """An index of AMD, with torch for ROCm.

    Attributes:
        address: of the index for all chips, whose parts for one chip are packages of their own.
        families: below it, an index for each family of chips, as AMD published them before.
        pythons: the series that have wheels for Windows, "3.12".
        triton: the first triton-windows whose driver module works on AMD's cards.
    """

    address: str
    families: str
    pythons: tuple[str, ...]
    triton: str
    source: str


@dataclass(frozen=True, kw_only=True)
class PairTable:
    """The content of `matrix.toml`."""

    data_date: str
    pairs: tuple[Pair, ...]
    releases: tuple[Release, ...]


@dataclass(frozen=True, kw_only=True)
class HardwareTable:
    """The content of `hardware.toml`.

    Attributes:
        torch_index: an address, and below it an index for each tag.
        arm64: the state of Windows on ARM64, for people.
    """

    ptxas_since: str
    tinycc_since: str
    torch_index: str
    arm64: str
    amd: AmdIndexes
    torch_tags: tuple[TorchTag, ...]
    generations: tuple[Generation, ...]
    nvcc_hosts: tuple[NvccHost, ...]
    dtypes: tuple[Dtype, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, kw_only=True)
class Matrix(HardwareTable, PairTable):
    """Both tables, and the questions that they answer."""

    def pair(self, torch_version: str) -> Pair | None:
        """The row of that torch; None when the table does not know its series."""
        wanted = series(torch_version)
        return next((p for p in self.pairs if p.torch == wanted), None)

    def release(self, triton_series: str) -> Release | None:
        return next((r for r in self.releases if r.series == triton_series), None)

    def newest_release(self) -> Release:
        return max(self.releases, key=lambda r: Version(r.series))

    def generation(self, compute_capability: str) -> Generation | None:
        """The generation of "8.9"; None if it is newer than the table or not a version."""
        version = parse(compute_capability)
        if version is None:
            return None
        return next(
            (g for g in self.generations if Version(g.start) <= version < Version(g.below)), None
        )

    def whole_pair(self, triton: str | None, wanted: str, gpus: Iterable[str]) -> Pair | None:
        """The last pair of which all works, on a GPU whose support ended before the wanted series.

        None where not all of the Triton works there either: then it is no reason to stay behind.

        Args:
            triton: its version; None where there is none.
            wanted: the series that the torch asks for.
            gpus: compute capabilities.
        """
        ranges = (g.triton for g in map(self.generation, gpus) if g and g.triton_partly)
        whole = next(filter(None, ranges), None)
        stays = triton and whole and fits(triton, whole) and not fits(wanted, whole)
        return self.last_pair(whole) if whole and stays else None

    def last_pair(self, triton: str) -> Pair | None:
        """The pair of the newest torch whose triton-windows is in the range."""
        return next((p for p in self.pairs[::-1] if p.windows and fits(p.windows, triton)), None)

    def dtype(self, name: str) -> Dtype:
        return next(d for d in self.dtypes if d.name == name)

    def nvcc_host(self, cuda_version: str) -> NvccHost | None:
        return next((h for h in self.nvcc_hosts if fits(cuda_version, h.cuda)), None)


@cache
def load() -> Matrix:
    """The shipped tables."""
    package = "tritonwin.support"
    return from_valid(
        Matrix, {**shipped(package, "matrix.toml"), **shipped(package, "hardware.toml")}
    )


def wanted_series(torch: Torch) -> str | None:
    """The series of Triton that torch asks for: its own metadata first, then the table."""
    if torch.wants_triton and (found := re.search(r"[0-9]{1,4}\.[0-9]{1,4}", torch.wants_triton)):
        return found[0]
    pair = load().pair(torch.version)
    return pair.triton if pair else None


def served_series(torch: Torch, wanted: str) -> tuple[str, ...]:
    """The series of triton-windows that serve this torch, the one to install last."""
    pair = load().pair(torch.version)
    return tuple(dict.fromkeys((wanted, (pair and pair.windows) or wanted)))


def released(triton_series: str) -> bool:
    """True if a triton-windows of that series, or of a later one, is known to exist."""
    return Version(triton_series) <= Version(load().newest_release().series)


def torch_tags(driver_cuda: str | None, capability: str | None) -> tuple[str, ...]:
    """The tags ("cu130") that this driver runs and that have kernels for this GPU, best first.

    Args:
        driver_cuda: the highest CUDA of the driver, "13.0"; None when it is not known.
        capability: compute capability of the GPU, "8.9"; None when it is not known.
    """
    driver = parse(driver_cuda or "")
    if driver is None:
        return ()
    return tuple(
        row.tag
        for row in load().torch_tags
        # within one major version CUDA is compatible both ways
        if driver.major >= int(row.cuda.split(".")[0])
        and (capability is None or fits(capability, row.capability))
    )

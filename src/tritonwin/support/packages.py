"""Packages that are compiled for one torch, from `packages.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from tritonwin.support.versions import fits
from tritonwin.system.toml import read_resource

FORK = "triton-windows"


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """Wheels for GPUs in the range `gpu` need this CUDA, and hold them from this version on."""

    gpu: str
    cuda: str
    version: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package whose wheels are compiled for one torch.

    Attributes:
        capability: GPUs that it works on, as a specifier.
        module: what is imported, where it is not the name with underscores.
        instead: what to try where no wheel fits.
        uncompiled: what to know of a wheel of it without compiled modules.
        on_torch_index: torch's own indexes hold it as well.
        follows_torch: it is replaced together with torch.
    """

    name: str
    source: str
    capability: str | None = None
    module: str | None = None
    instead: str | None = None
    uncompiled: str | None = None
    kernels: tuple[Kernels, ...] = ()
    on_torch_index: bool = False
    follows_torch: bool = False

    def has_kernels(self, version: Version, cuda: str | None, gpu: str) -> bool:
        """True if a wheel of that version, built with that CUDA, has kernels for the GPU."""
        # "12" alone says too little to reject a wheel
        known = cuda if cuda and "." in cuda else None
        return all(
            (known is None or fits(known, row.cuda)) and fits(version.public, row.version)
            for row in self.kernels
            if fits(gpu, row.gpu)
        )


@dataclass(frozen=True, kw_only=True)
class PackageTable:
    """The content of `packages.toml`."""

    packages: tuple[Package, ...]


@cache
def load() -> Mapping[str, Package]:
    """The shipped table by normalised name."""
    table = read_resource("tritonwin.support", "packages.toml", PackageTable)
    return {package.name: package for package in table.packages}


def module_of(distribution: str) -> str:
    """The module whose import shows that the package works."""
    if distribution == FORK:
        return "triton"
    package = load().get(distribution)
    return (package and package.module) or distribution.replace("-", "_")

"""What is known of packages that are compiled for one torch, from `packages.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from tritonwin.support.versions import fits
from tritonwin.system.toml import shipped

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
    """

    name: str
    source: str
    capability: str | None = None
    module: str | None = None
    instead: str | None = None
    kernels: tuple[Kernels, ...] = ()

    def has_kernels(self, version: Version, cuda: str | None, gpu: str) -> bool:
        """Whether a wheel of that version, built with that CUDA, holds kernels for the GPU."""
        # "12" alone says too little to reject a wheel
        known = cuda if cuda and "." in cuda else None
        return all(
            (known is None or fits(known, row.cuda)) and fits(version.public, row.version)
            for row in self.kernels
            if fits(gpu, row.gpu)
        )


@cache
def load() -> Mapping[str, Package]:
    """The shipped table by normalised name; raises TypeError or KeyError for a wrong row."""
    return {
        row["name"]: Package(
            **{**row, "kernels": tuple(Kernels(**kernels) for kernels in row.get("kernels", ()))}
        )
        for row in shipped("tritonwin.support", "packages.toml")["package"]
    }


def module_of(distribution: str) -> str:
    """The module whose import shows that the package works."""
    if distribution == FORK:
        return "triton"
    package = load().get(distribution)
    return (package and package.module) or distribution.replace("-", "_")

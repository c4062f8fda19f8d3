"""What a rung demands of the machine, and why it is not tried where that is missing.

The words of `demands` in ladder.toml, and what each asks of the facts:

    compiler      a C compiler that takes gcc's options
    cxx-compiler  one for C++: cl.exe on Windows, gcc or clang elsewhere
    driver, gpu   NVIDIA's driver; and a GPU whose compute capability is known
    generation    Triton compiles for this GPU generation (support/hardware.toml)
    tensor-cores  everything of Triton works on it, dot products included
    dtype:NAME    the GPU, or Triton on it, has the number format (support/hardware.toml)
    torch         torch is installed
    torch-cuda    it is built for CUDA
    package-gpu   the rung's package has kernels for the GPU (support/packages.toml)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from packaging.version import Version

from tritonwin.facts.records import Facts, Gpu
from tritonwin.support import matrix, packages, versions
from tritonwin.support.matrix import Generation
from tritonwin.support.versions import fits, older, parse
from tritonwin.verify.model import Rung, RungState

Obstacle = tuple[RungState, str]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What demands are held against.

    Attributes:
        compiler: a C compiler that takes gcc's options, if there is one.
        capability: of the GPU that kernels are compiled for: "8.9".
    """

    facts: Facts
    compiler: str | None
    driver: bool
    capability: str


def gpu_of(facts: Facts) -> Gpu | None:
    """The GPU that Triton takes: NVIDIA's first whose compute capability is known."""
    return next((gpu for gpu in facts.nvidia_gpus if gpu.compute_capability), None)


def has_driver(facts: Facts) -> bool:
    return facts.nvidia_driver is not None and facts.nvidia_driver.error is None


def obstacle(rung: Rung, machine: Machine) -> Obstacle | None:
    """Why the rung is not tried on this machine; None where it is."""
    for package in rung.packages:
        if machine.facts.distribution(package) is None:
            return "not-installed", f"{package} is not installed"
    for demand in rung.demands:
        word, _, value = demand.partition(":")
        if word in {"torch", "torch-cuda"} and machine.facts.torch is None:
            return "not-installed", "torch is not installed"
        if reason := _DEMANDS[word](machine, value or (rung.packages or ("",))[-1]):
            return "not-applicable", reason
    return None


def _compiler(machine: Machine, value: str) -> str | None:
    del value
    return None if machine.compiler else "no TinyCC, gcc or clang was found to try it with"


def _cxx_compiler(machine: Machine, value: str) -> str | None:
    del value
    facts = machine.facts
    if facts.windows:
        found = any(m.compiler and not m.missing for m in facts.msvc)
        return None if found else "no cl.exe is here; only the CPU path of torch.compile needs it"
    found = any(c.family in {"gcc", "clang"} and c.flaw is None for c in facts.compilers)
    return None if found else "no C++ compiler was found"


def _driver(machine: Machine, value: str) -> str | None:
    del value
    return None if machine.driver else "no NVIDIA driver is here"


def _gpu(machine: Machine, value: str) -> str | None:
    if reason := _driver(machine, value):
        return reason
    return None if gpu_of(machine.facts) else "no NVIDIA GPU is here"


def _generation(machine: Machine, value: str) -> str | None:
    del value
    row, version = _row(machine)
    if row is None or version is None:
        return None
    ranges = [r for r in (row.triton, row.triton_partly) if r]
    if any(fits(version, r) for r in ranges):
        return None
    return _too_old(row, f"Triton {version} does not compile for it")


def _tensor_cores(machine: Machine, value: str) -> str | None:
    row, version = _row(machine)
    if row is None or version is None or (row.triton and fits(version, row.triton)):
        return _generation(machine, value)
    return _too_old(row, f"dot products do not work on it with Triton {version}")


def _row(machine: Machine) -> tuple[Generation | None, str | None]:
    triton = machine.facts.triton
    version = triton.version if triton else None
    return matrix.load().generation(machine.capability), version if parse(version or "") else None


def _too_old(row: Generation, reason: str) -> str:
    return f"{row.name} ({row.examples}): {reason}. {row.advice or ''} ({row.source})".strip()


def _dtype(machine: Machine, value: str) -> str | None:
    row = matrix.load().dtype(value)
    if not older(machine.capability, row.capability):
        return None
    triton = machine.facts.triton
    version = parse(_installed(machine) or (triton and triton.version) or "")
    if version and any(
        version >= Version(first)
        for series, first in row.emulated.items()
        if versions.series(str(version)) == series
    ):
        return None
    return (
        f"{value} needs compute capability {row.capability}, this is {machine.capability}: "
        f"{row.text} ({row.source})"
    )


def _installed(machine: Machine) -> str | None:
    """The version with its post-release, which `triton.__version__` lacks."""
    triton = machine.facts.triton
    owner = machine.facts.distribution((triton and triton.distribution) or "")
    return owner.version if owner else None


def _torch(machine: Machine, value: str) -> str | None:
    del machine, value
    return None  # that it is absent was asked before: `obstacle`


def _torch_cuda(machine: Machine, value: str) -> str | None:
    del value
    torch = machine.facts.torch
    return f"torch {torch.version} is built without CUDA" if torch and not torch.cuda else None


def _package_gpu(machine: Machine, value: str) -> str | None:
    package = packages.load().get(value)
    if package is None or package.capability is None:
        return None
    if fits(machine.capability, package.capability):
        return None
    return (
        f"{value} works on compute capability {package.capability}, this is "
        f"{machine.capability} ({package.source})"
    )


_DEMANDS: dict[str, Callable[[Machine, str], str | None]] = {
    "compiler": _compiler,
    "cxx-compiler": _cxx_compiler,
    "driver": _driver,
    "gpu": _gpu,
    "generation": _generation,
    "tensor-cores": _tensor_cores,
    "dtype": _dtype,
    "torch": _torch,
    "torch-cuda": _torch_cuda,
    "package-gpu": _package_gpu,
}
WORDS = frozenset(_DEMANDS)

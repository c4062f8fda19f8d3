"""Which compilers go together: `toolchain.toml` and `cuda_wheels.toml`, as records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from tritonwin.build.model import PinnedFile
from tritonwin.support import matrix
from tritonwin.support.versions import fits
from tritonwin.system.toml import shipped


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """The rows of toolchain.toml: pairs of a range and what holds in it."""

    gcc: tuple[tuple[str, int], ...]
    stl: tuple[tuple[str, str], ...]
    nvcc: tuple[tuple[str, tuple[str, ...]], ...]
    cpp: tuple[tuple[str, str], ...]


@cache
def _toolchain() -> Toolchain:
    data = _read("toolchain.toml")
    return Toolchain(
        gcc=tuple((row["cuda"], row["newest"]) for row in data["gcc"]),
        stl=tuple((row["msvc"], row["cuda"]) for row in data["stl"]),
        nvcc=tuple((row["cuda"], tuple(row["archs"])) for row in data["nvcc"]),
        cpp=tuple((row["torch"], row["standard"]) for row in data["cpp"]),
    )


@cache
def _parts() -> tuple[tuple[str, str, PinnedFile], ...]:
    return tuple(
        (
            row["cuda"],
            row["system"],
            PinnedFile(**{k: v for k, v in row.items() if k not in {"cuda", "system"}}),
        )
        for row in _read("cuda_wheels.toml")["part"]
    )


def _read(file: str) -> dict[str, Any]:
    return shipped("tritonwin.build", file)


def msvc_for(cuda: str) -> str:
    """The toolsets that the nvcc of a CUDA version accepts: ">=14.20,<14.50"; empty: unknown."""
    row = matrix.load().nvcc_host(cuda)
    return row.msvc if row else ""


def newest_gcc(cuda: str) -> int | None:
    """The newest major version of gcc that nvcc accepts."""
    return next((newest for spec, newest in _toolchain().gcc if fits(cuda, spec)), None)


def cuda_for(toolset: str) -> str:
    """The CUDA versions that the standard library of an MSVC toolset accepts; empty: any."""
    return next((cuda for spec, cuda in _toolchain().stl if fits(toolset, spec)), "")


def nvcc_archs(cuda: str) -> tuple[str, ...]:
    """The compute capabilities that nvcc compiles for; empty: unknown."""
    return next((archs for spec, archs in _toolchain().nvcc if fits(cuda, spec)), ())


def cpp_standard(torch: str) -> str:
    """The C++ standard of torch's headers: "17"."""
    return next((s for spec, s in _toolchain().cpp if fits(torch, spec)), "17")


def assembled_versions() -> tuple[str, ...]:
    """CUDA versions whose toolkit can be put together from the package index, the newest first."""
    return tuple(sorted({cuda for cuda, _, _ in _parts()}, key=_number, reverse=True))


def parts_of(cuda: str, *, windows: bool) -> tuple[PinnedFile, ...]:
    """The wheels of that toolkit; empty where there are none."""
    system = "windows" if windows else "linux"
    return tuple(part for have, on, part in _parts() if (have, on) == (cuda, system))


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))

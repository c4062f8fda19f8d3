"""Where the parts of a CUDA toolkit lie, in each of the forms in which people have one.

Layouts as found in NVIDIA's Windows installer, in the Windows wheels on PyPI, in conda's packages
and in triton-windows' wheels. The Linux places stand in the same table: a file that cannot exist
on one system does no harm there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tritonwin.facts.model import CudaToolkit
from tritonwin.facts.toolchain import cuda_versions
from tritonwin.system.files import first_file, is_file, is_folder

LayoutName = Literal["system", "pip-cu12", "pip-cu13", "conda", "bundled", "unknown"]

# What Triton needs to compile a kernel and its helper modules, and what a build needs besides.
# `CudaToolkit.missing` holds these names; on Linux no cuda.lib is needed, the driver's library
# is linked.
KERNEL_PARTS = ("ptxas", "cuda.h", "cuda.lib")
BUILD_PARTS = ("nvcc", "cicc", "cudart.lib", "crt/host_config.h")

_PREFIX: Mapping[str, tuple[str, ...]] = {
    "ptxas": ("bin/ptxas",),
    "nvcc": ("bin/nvcc",),
    "cicc": ("nvvm/bin/cicc",),
    "cuda.h": ("include/cuda.h", "targets/x86_64-linux/include/cuda.h"),
    "cuda.lib": ("lib/x64/cuda.lib", "lib64/stubs/libcuda.so", "lib/stubs/libcuda.so"),
    "cudart.lib": ("lib/x64/cudart.lib", "lib64/libcudart.so", "lib/libcudart.so"),
    "crt/host_config.h": (
        "include/crt/host_config.h",
        "targets/x86_64-linux/include/crt/host_config.h",
    ),
}
_CONDA = {
    **_PREFIX,
    "cuda.lib": ("lib/cuda.lib", *_PREFIX["cuda.lib"]),
    "cudart.lib": ("lib/cudart.lib", *_PREFIX["cudart.lib"]),
}
_CU12 = {
    "ptxas": ("cuda_nvcc/bin/ptxas",),
    "nvcc": ("cuda_nvcc/bin/nvcc",),
    "cicc": ("cuda_nvcc/nvvm/bin/cicc",),
    "cuda.h": ("cuda_runtime/include/cuda.h",),
    "cuda.lib": ("cuda_runtime/lib/x64/cuda.lib",),
    "cudart.lib": ("cuda_runtime/lib/x64/cudart.lib", "cuda_runtime/lib/libcudart.so.12"),
    "crt/host_config.h": ("cuda_nvcc/include/crt/host_config.h",),
}
_LAYOUTS: Mapping[LayoutName, Mapping[str, tuple[str, ...]]] = {
    "system": _PREFIX,
    "pip-cu13": _PREFIX,
    "bundled": _PREFIX,
    "unknown": _PREFIX,
    "conda": _CONDA,
    "pip-cu12": _CU12,
}
_PROGRAMS = frozenset({"ptxas", "nvcc", "cicc"})


@dataclass(frozen=True)
class Place:
    """A folder that may be a toolkit, and whether Triton's own look-up would come to it."""

    path: Path
    source: str
    layout: LayoutName | None = None  # None: to be told from what lies there
    unreachable: str = ""  # why Triton does not look here; empty where it does
    named: bool = False  # named by a variable: listed even where nothing is there


def layout_of(path: Path) -> LayoutName:
    """Tell the layout of a folder by its neighbours and by what is in it."""
    name, parent = path.name.lower(), path.parent.name.lower()
    if is_folder(path / "cuda_nvcc") or is_folder(path / "cuda_runtime"):
        return "pip-cu12"
    if parent == "nvidia" and name.startswith("cu"):
        return "pip-cu13"
    if (parent, name) == ("backends", "nvidia"):
        return "bundled"
    if is_folder(path / "conda-meta") or is_folder(path.parent / "conda-meta"):
        return "conda"
    if is_file(path / "version.json") or first_file(path, ("bin/nvcc.exe", "bin/nvcc")):
        return "system"
    return "unknown"


def describe(place: Place, *, windows: bool) -> CudaToolkit:
    """Read one toolkit. What Triton brings along itself is not expected to build anything.

    `version` is that of version.json, else of cuda.h, else of the programs. Where the parts are
    of different ages (triton-windows 3.8.0.post29 bundles cuda.h 13.1 and ptxas 12.9), what
    ptxas can do is told by `cuda_versions.banner_version`.
    """
    layout = place.layout or layout_of(place.path)
    end = ".exe" if windows else ""
    parts = {
        name: first_file(place.path, tuple(p + end for p in where) if name in _PROGRAMS else where)
        for name, where in _LAYOUTS[layout].items()
    }
    expected = KERNEL_PARTS if layout == "bundled" else KERNEL_PARTS + BUILD_PARTS
    missing = (p for p in expected if parts[p] is None and (windows or p != "cuda.lib"))
    host_config = parts["crt/host_config.h"]
    return CudaToolkit(
        path=str(place.path),
        source=place.source,
        layout=layout,
        version=_version(place.path, parts),
        nvcc=_text(parts["nvcc"]),
        ptxas=_text(parts["ptxas"]),
        header=_text(parts["cuda.h"]),
        library=_text(parts["cuda.lib"]),
        missing=tuple(missing),
        host_msvc_max=cuda_versions.newest_host_msvc(host_config) if host_config else None,
        exists=is_folder(place.path),
    )


def _version(root: Path, parts: Mapping[str, Path | None]) -> str | None:
    version = cuda_versions.json_version(root / "version.json")
    header = parts["cuda.h"]
    if version is None and header:
        version = cuda_versions.header_version(header)
    for name in ("nvcc", "ptxas"):
        program = parts[name]
        if version is None and program:
            version = cuda_versions.banner_version(program)
    return version


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)

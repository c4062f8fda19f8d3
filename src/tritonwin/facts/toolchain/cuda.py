"""CUDA toolkits of a target and its machine, and the one that Triton would take.

Layouts as found in NVIDIA's Windows installer, in the Windows wheels on PyPI, in conda's packages
and in triton-windows' wheels. The Linux places stand in the same table: a file that cannot exist
on one system does no harm there. No program is started to learn its version.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from tritonwin.facts.packages import platlib
from tritonwin.facts.records import CudaLayout, CudaToolkit, Interpreter
from tritonwin.facts.toolchain.precedence import in_order
from tritonwin.system.files import (
    as_text,
    first_file,
    is_file,
    is_folder,
    names_in,
    read_text,
    version_key,
)
from tritonwin.system.host import Host

_BANNER = re.compile(rb"release (\d{1,3}\.\d{1,3}), V\d")
_BANNER_LIMIT = 512 * 1024 * 1024  # ptxas of CUDA 13 has 27 MB
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CUDA_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE)
_MSVC_RANGE = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if\b[^\n]{0,200}_MSC_VER[ \t]*<[ \t]*\d+"
    r"[^\n]{0,200}_MSC_VER[ \t]*>=[ \t]*(\d{4})\b",
    re.MULTILINE,
)


def json_version(version_json: Path) -> str | None:
    """The toolkit's "12.8" from the `version.json` that installers leave (not pip, not conda)."""
    try:
        version = json.loads(read_text(version_json) or "")["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return _short(version) if isinstance(version, str) else None


def header_version(cuda_h: Path) -> str | None:
    """ "12.8" from `#define CUDA_VERSION 12080` in cuda.h (1000 x major + 10 x minor)."""
    found = _DEFINE.search(read_text(cuda_h) or "")
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None


def banner_version(program: Path) -> str | None:
    """ "12.8" from the banner `release 12.8, V12.8.93` that nvcc and ptxas carry as text."""
    if not is_file(program):
        return None
    try:
        size = program.stat().st_size
        if size == 0:
            return None
        with (
            program.open("rb") as stream,
            mmap.mmap(
                stream.fileno(), min(size, _BANNER_LIMIT), access=mmap.ACCESS_READ
            ) as content,
        ):
            found = _BANNER.search(content)
            return found[1].decode("ascii") if found else None
    except (OSError, ValueError):
        return None


def newest_host_msvc(host_config_h: Path) -> str | None:
    """The newest `_MSC_VER` that nvcc accepts without a fight: "1949".

    crt/host_config.h stops with #error on `_MSC_VER < 1910 || _MSC_VER >= 1950`.
    """
    found = _MSVC_RANGE.search(read_text(host_config_h) or "")
    return str(int(found[1]) - 1) if found else None


def _short(version: str) -> str | None:
    found = re.match(r"\d{1,3}\.\d{1,3}", version)
    return found[0] if found else None


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
_LAYOUTS: Mapping[CudaLayout, Mapping[str, tuple[str, ...]]] = {
    "system": _PREFIX,
    "pip-cu13": _PREFIX,
    "bundled": _PREFIX,
    "unknown": _PREFIX,
    "conda": _CONDA,
    "pip-cu12": _CU12,
}
_PROGRAMS = frozenset({"ptxas", "nvcc", "cicc"})


@dataclass(frozen=True)
class ToolkitPlace:
    """A folder that may be a toolkit, and whether Triton's own look-up would come to it."""

    path: Path
    source: str
    layout: CudaLayout | None = None  # None: to be told from what lies there
    sought: bool = True  # False: Triton does not look here
    named: bool = False  # by a user: listed even where nothing is there
    variable: Literal["CUDA_PATH", "CUDA_HOME"] | None = None


def layout_of(path: Path) -> CudaLayout:
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


def describe(place: ToolkitPlace, *, windows: bool) -> CudaToolkit:
    """Read one toolkit. What Triton brings along itself is not expected to build anything.

    `version` is that of version.json, else of cuda.h, else of the programs. Where the parts are
    of different ages (triton-windows 3.8.0.post29 bundles cuda.h 13.1 and ptxas 12.9), what
    ptxas can do is told by `banner_version`.
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
        variable=place.variable,
        layout=layout,
        version=_version(place.path, parts),
        nvcc=as_text(parts["nvcc"]),
        ptxas=as_text(parts["ptxas"]),
        header=as_text(parts["cuda.h"]),
        library=as_text(parts["cuda.lib"]),
        missing=tuple(missing),
        host_msvc_max=newest_host_msvc(host_config) if host_config else None,
        exists=is_folder(place.path),
    )


def _version(root: Path, parts: Mapping[str, Path | None]) -> str | None:
    version = json_version(root / "version.json")
    header = parts["cuda.h"]
    if version is None and header:
        version = header_version(header)
    for name in ("nvcc", "ptxas"):
        program = parts[name]
        if version is None and program:
            version = banner_version(program)
    return version


def find_cuda_toolkits(target: Interpreter | None, host: Host) -> tuple[CudaToolkit, ...]:
    """List every toolkit once, in the order of triton-windows' `find_cuda()`.

    That order is: the variables CUDA_PATH and CUDA_HOME; the one bundled with Triton; the wheels
    of CUDA 12 in `nvidia`; conda's `Library`; Program Files. Places that Triton does not look at
    (the wheels of CUDA 13, Program Files\\...\\v13.x, nvcc on PATH) stand beside their like and
    are not chosen. A variable that names no folder is listed with `exists=False`. `chosen` is the
    first that Triton finds complete for compiling kernels; on Linux it uses only its own.
    """
    there = (p for p in _places(target, host) if p.named or is_folder(p.path))
    return in_order(
        there,
        lambda place: place.path,
        partial(describe, windows=host.windows),
        lambda place, tool: (
            place.sought and tool.exists and not set(KERNEL_PARTS) & {*tool.missing}
        ),
    )


def _places(target: Interpreter | None, host: Host) -> Iterator[ToolkitPlace]:
    yield from _variables(host)
    if target:
        yield from _site_packages(target)
        yield from _conda(target, host)
    yield from _program_files(host) if host.windows else _usr_local()
    yield from _on_path(host)


def _variables(host: Host) -> Iterable[ToolkitPlace]:
    names: tuple[Literal["CUDA_PATH", "CUDA_HOME"], ...] = ("CUDA_PATH", "CUDA_HOME")
    for name in names:
        folder = host.env.folder(name)
        if folder is None:
            continue
        # Triton takes quotes for a part of the name, and on Linux the toolkit that it brings along
        sought = host.windows and '"' not in (host.env.get(name) or "")
        yield ToolkitPlace(folder, f"variable {name}", sought=sought, named=True, variable=name)


def _site_packages(target: Interpreter) -> Iterable[ToolkitPlace]:
    folders = [Path(folder) for folder in target.site_packages]
    home = platlib(target)  # the only folder in which Triton looks for its tools
    for folder in folders:
        bundled = folder / "triton" / "backends" / "nvidia"
        # Other packages leave a folder of that name as well; without bin it is no toolkit.
        if is_folder(bundled / "bin"):
            yield ToolkitPlace(bundled, "bundled with Triton", "bundled", sought=folder == home)
    for folder in folders:
        nvidia = folder / "nvidia"
        if is_folder(nvidia / "cuda_nvcc") or is_folder(nvidia / "cuda_runtime"):
            yield ToolkitPlace(nvidia, "wheels of CUDA 12", "pip-cu12", sought=folder == home)
    for folder in folders:
        place = folder / "nvidia" / "cu13"
        yield ToolkitPlace(place, "wheels of CUDA 13", "pip-cu13", sought=False)


def _conda(target: Interpreter, host: Host) -> Iterable[ToolkitPlace]:
    root = Path(target.prefix) if target.prefix else None
    if root and is_folder(root / "conda-meta"):
        folder = root / "Library" if host.windows else root
        if any(name.startswith(("nvcc", "ptxas")) for name in names_in(folder / "bin")):
            yield ToolkitPlace(folder, "conda environment", "conda")


def _program_files(host: Host) -> Iterable[ToolkitPlace]:
    for root in host.program_files():
        parent = root / "NVIDIA GPU Computing Toolkit" / "CUDA"
        for name in sorted(names_in(parent), key=version_key, reverse=True):
            sought = name.startswith("v12")
            yield ToolkitPlace(parent / name, "Program Files", "system", sought=sought)


def _usr_local() -> Iterable[ToolkitPlace]:
    parent = Path("/usr/local")
    names = (name for name in names_in(parent) if name.startswith("cuda"))
    for name in sorted(names, key=version_key, reverse=True):
        yield ToolkitPlace(parent / name, "/usr/local", "system", sought=False)


def _on_path(host: Host) -> Iterable[ToolkitPlace]:
    """torch takes the toolkit of the first nvcc on PATH when no variable names one."""
    for program in host.executables("nvcc"):
        yield ToolkitPlace(program.parent.parent, "nvcc on PATH", sought=False)

"""CUDA toolkits of a target and its machine, and the one that Triton would take.

No program is started to learn its version.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from tritonwin.facts.dlls.gpu_code import mapped
from tritonwin.facts.packages import platlib
from tritonwin.facts.records import CudaLayout, CudaToolkit, Interpreter
from tritonwin.facts.toolchain.parts import in_order, parts
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
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CUDA_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE)
_MSVC_RANGE = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if\b[^\n]{0,200}_MSC_VER[ \t]*<[ \t]*\d+"
    r"[^\n]{0,200}_MSC_VER[ \t]*>=[ \t]*(\d{4})\b",
    re.MULTILINE,
)


def header_version(cuda_h: Path) -> str | None:
    """ "12.8" from `#define CUDA_VERSION 12080` in cuda.h (1000 x major + 10 x minor)."""
    found = _DEFINE.search(read_text(cuda_h) or "")
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None


def banner_version(program: Path) -> str | None:
    """ "12.8" from the banner `release 12.8, V12.8.93` that nvcc and ptxas carry as text."""
    with contextlib.suppress(OSError), mapped(program) as content:
        found = _BANNER.search(content)
        return found[1].decode("ascii") if found else None
    return None


def newest_host_msvc(host_config_h: Path) -> str | None:
    """The newest `_MSC_VER` that nvcc accepts without a fight: "1949".

    crt/host_config.h stops with #error on `_MSC_VER < 1910 || _MSC_VER >= 1950`.
    """
    found = _MSVC_RANGE.search(read_text(host_config_h) or "")
    return str(int(found[1]) - 1) if found else None


@dataclass(frozen=True)
class ToolkitPlace:
    """A folder that may be a toolkit, and whether Triton's own look-up would come to it."""

    path: Path
    source: str
    layout: CudaLayout | None = None  # None: to be told from what lies there
    sought: bool = True  # False: Triton does not look here
    # names it: listed even where nothing is there
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

    `version` is that of cuda.h, else of the programs. Where the parts are
    of different ages (triton-windows 3.8.0.post29 bundles cuda.h 13.1 and ptxas 12.9), what
    ptxas can do is told by `banner_version`.
    """
    root, layout, known = place.path, place.layout or layout_of(place.path), parts().cuda
    end = ".exe" if windows else ""
    files = {
        name: first_file(root, tuple(p + end for p in where) if name in known.programs else where)
        for name, where in (known.wheels if layout == "pip-cu12" else known.prefix).items()
    }
    expected = known.kernel if layout == "bundled" else known.kernel + known.build
    header, host_config = files["cuda.h"], files["crt/host_config.h"]
    version = header_version(header) if header else None
    for program in (files["nvcc"], files["ptxas"]):
        version = version or (banner_version(program) if program else None)
    return CudaToolkit(
        path=str(root),
        source=place.source,
        variable=place.variable,
        layout=layout,
        version=version,
        nvcc=as_text(files["nvcc"]),
        ptxas=as_text(files["ptxas"]),
        header=as_text(header),
        library=as_text(files["cuda.lib"]),
        # on Linux the driver's library is linked
        missing=tuple(p for p in expected if not files[p] and (windows or p != "cuda.lib")),
        host_msvc_max=newest_host_msvc(host_config) if host_config else None,
        exists=is_folder(root),
    )


def find_cuda_toolkits(target: Interpreter | None, host: Host) -> tuple[CudaToolkit, ...]:
    """List every toolkit once, in the order of triton-windows' `find_cuda()`.

    That order is: the variables CUDA_PATH and CUDA_HOME; the one bundled with Triton; the wheels
    of CUDA 12 in `nvidia`; conda's `Library`; Program Files. Places that Triton does not look at
    (the wheels of CUDA 13, Program Files\\...\\v13.x, nvcc on PATH) stand beside their like and
    are not chosen. A variable that names no folder is listed with `exists=False`. `chosen` is the
    first that Triton finds complete for compiling kernels; on Linux it uses only its own.
    """
    there = (p for p in _places(target, host) if p.variable or is_folder(p.path))
    kernel = parts().cuda.kernel
    return in_order(
        there,
        lambda place: place.path,
        partial(describe, windows=host.windows),
        lambda place, tool: place.sought and tool.exists and not {*kernel} & {*tool.missing},
    )


def _places(target: Interpreter | None, host: Host) -> Iterator[ToolkitPlace]:
    yield from _variables(host)
    yield from _site_packages(target) if target else ()
    root = Path(target.prefix) if target and target.prefix else None
    if root and is_folder(root / "conda-meta"):
        folder = root / "Library" if host.windows else root
        if any(name.startswith(("nvcc", "ptxas")) for name in names_in(folder / "bin")):
            yield ToolkitPlace(folder, "conda environment", "conda")
    yield from _installed(host)
    # torch takes the toolkit of the first nvcc on PATH when no variable names one
    for program in host.executables("nvcc"):
        yield ToolkitPlace(program.parent.parent, "nvcc on PATH", sought=False)


def _variables(host: Host) -> Iterable[ToolkitPlace]:
    names: tuple[Literal["CUDA_PATH", "CUDA_HOME"], ...] = ("CUDA_PATH", "CUDA_HOME")
    for name in names:
        folder = host.env.folder(name)
        if folder is None:
            continue
        # Triton takes quotes for a part of the name, and on Linux the toolkit that it brings along
        sought = host.windows and '"' not in (host.env.get(name) or "")
        yield ToolkitPlace(folder, f"variable {name}", sought=sought, variable=name)


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


def _installed(host: Host) -> Iterable[ToolkitPlace]:
    folders = [f / "NVIDIA GPU Computing Toolkit" / "CUDA" for f in host.program_files()]
    parents, source, start = folders, "Program Files", ""
    if not host.windows:
        parents, source, start = [Path("/usr/local")], "/usr/local", "cuda"
    for parent in parents:
        for name in sorted(names_in(parent), key=version_key, reverse=True):
            if name.startswith(start):
                sought = host.windows and name.startswith("v12")
                yield ToolkitPlace(parent / name, source, "system", sought=sought)

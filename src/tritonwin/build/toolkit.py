"""The CUDA toolkit of a build: of torch's major version, and one that has a compiler beside it.

Where none is installed it is assembled from wheels of the package index: one folder, a valid
CUDA_HOME. NVIDIA's wheels for CUDA 13 share one prefix, `nvidia/cu13`, in which nvcc finds all its
parts. Those for CUDA 12 have no nvcc.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tritonwin.build import recipe as tables
from tritonwin.build.plan import Toolkit, ToolkitOrigin
from tritonwin.errors import UserError
from tritonwin.facts.records import CudaToolkit
from tritonwin.facts.toolchain.cuda import ToolkitPlace, describe
from tritonwin.facts.toolchain.parts import parts
from tritonwin.support.archives import unpack_folders
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.files import is_file, is_folder, paths_in, same_place, version_key

if TYPE_CHECKING:
    from tritonwin.build.order import Request
    from tritonwin.build.source import BuildContext

ASSEMBLED = "assembled"
PROBLEM = "cuda-toolkit-for-build"
_ORIGINS: dict[str, ToolkitOrigin] = {"conda": "conda", "pip-cu13": "packages"}
# NVIDIA's wheels for Linux name the library libcudart.so.13 only; the build makes the other name.
_MADE_BY_BUILD = frozenset({"cudart.lib"})
_PREFIX = "nvidia/cu13"


def candidates(request: Request) -> Iterator[Toolkit]:
    """Toolkits that can build for this torch, the best first.

    torch refuses another major version than its own and warns of another minor one. A toolkit that
    is there comes before one that would be assembled.
    """
    asked, torch_cuda, windows = request.order.cuda, request.torch_cuda, request.windows
    named = _named(request)
    fitting = []
    for there in [named] if named else request.facts.cuda_toolkits:
        if why_not(there, torch_cuda, windows=windows):
            continue
        version = there.version or ""
        msvc = tables.msvc_for(version)
        if windows and there.host_msvc_max and msvc:
            # `_MSC_VER` 1949 is toolset 14.49
            msvc = f"{msvc.split(',')[0]},<14.{int(there.host_msvc_max) - 1899}"
        origin = _ORIGINS.get(there.layout, "system")
        short = ".".join(version.split(".")[:2])
        fitting.append(Toolkit(origin=origin, path=there.path, version=short, msvc=msvc))
    assembled = [
        Toolkit(
            origin="assembled",
            path="",
            version=version,
            msvc=tables.msvc_for(version),
            parts=tables.parts_of(version, windows=windows),
        )
        for version in tables.assembled_versions()
        if asked in {None, ASSEMBLED, version}
        and (torch_cuda is None or _major(version) == _major(torch_cuda))
    ]
    for group in (fitting, assembled):
        for toolkit in sorted(group, key=lambda t: _distance(t.version, torch_cuda)):
            if named or toolkit.parts or asked is None or matches(toolkit.version, asked):
                yield toolkit


def why_not(toolkit: CudaToolkit, torch_cuda: str | None, *, windows: bool) -> str:
    """The reason against a toolkit for a build, in words; empty if it is complete and fits."""
    if not toolkit.exists:
        return "the folder does not exist"
    lacking = {part for part in toolkit.missing if part in parts().cuda.build}
    if toolkit.nvcc is None:  # what Triton brings along is whole without it
        lacking.add("nvcc")
    if not windows and toolkit.layout == "pip-cu13":
        lacking -= _MADE_BY_BUILD
    if lacking:
        return f"no {', no '.join(sorted(lacking))}"
    if not toolkit.version:
        return "its version is not known"
    other = torch_cuda is not None and _major(toolkit.version) != _major(torch_cuda)
    return f"is CUDA {toolkit.version}" if other else ""


def none_fits(request: Request) -> str:
    """The message that says for each toolkit why it does not fit, the requested one first."""
    asked, torch_cuda, named = request.order.cuda, request.torch_cuda, _named(request)
    wants = f"a toolkit of CUDA {_major(torch_cuda)}" if torch_cuda else "a CUDA toolkit"
    every = dict.fromkeys((*([named] if named else ()), *request.facts.cuda_toolkits))
    reasons = [(t.path, why_not(t, torch_cuda, windows=request.windows)) for t in every]
    each = "; ".join(f"{path} ({why})" for path, why in reasons if why)
    there = "there is none" if asked is None else f"--cuda {asked} names none"
    return f"the build needs {wants}, and {there}{f'; not taken: {each}' if each else ''}"


def matches(version: str, asked: str) -> bool:
    """True if a version is the one that was asked for, or of its series."""
    return version == asked or version.startswith(f"{asked.rstrip('.')}.")


def _named(request: Request) -> CudaToolkit | None:
    """The toolkit in the folder that was asked for; None where a version was, or nothing."""
    asked = request.order.cuda
    if not asked or asked == ASSEMBLED or re.fullmatch(r"\d{1,2}(\.\d{1,2})?", asked):
        return None
    path = Path(asked)
    for toolkit in request.facts.cuda_toolkits:
        if same_place(Path(toolkit.path)) == same_place(path):
            return toolkit
    return describe(ToolkitPlace(path, "--cuda", named=True), windows=request.windows)


def _major(version: str | None) -> str:
    return (version or "").split(".")[0]


def _distance(version: str, torch_cuda: str | None) -> tuple[int, int]:
    """The very minor version first, then the nearest, an older one before a newer one."""
    if torch_cuda is None:
        return (0, 0)
    have, want = ((*version_key(each), 0, 0)[1] for each in (version, torch_cuda))
    return (abs(have - want), have - want)


# --- assembled from the package index


def assemble(parts: Sequence[FileSource], to: Path, context: BuildContext) -> None:
    """Make `to` the toolkit; one that an earlier run has assembled stays.

    Raises:
        DownloadError: a part cannot be fetched, or has another hash.
        UserError: the parts hold no nvcc, or what they must not.
    """
    if is_folder(to):
        return
    work = to.with_name(to.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    wheels = to.with_name(to.name + ".wheels")
    for part in parts:
        context.on_event(f"{part.name} {part.version}")
        unpack_folders(context.obtain(part, wheels), {_PREFIX: work})
    if not any(is_file(work / "bin" / name) for name in ("nvcc", "nvcc.exe")):
        raise UserError(
            "the parts of the CUDA toolkit hold no nvcc",
            "Install the CUDA toolkit and name its folder: --cuda DIR",
        )
    if sys.platform != "win32":
        name_libraries(work / "lib", work / "lib")
    work.rename(to)
    shutil.rmtree(wheels, ignore_errors=True)


def name_libraries(folder: Path, into: Path) -> None:
    """Link every library under the name that a linker asks for; a wheel cannot hold such a link."""
    into.mkdir(parents=True, exist_ok=True)
    for library in paths_in(folder, "lib*.so.*"):
        name = into / (library.name.partition(".so.")[0] + ".so")
        if not os.path.lexists(name):
            name.symlink_to(library.name if folder == into else library)

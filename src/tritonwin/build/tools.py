"""Toolkit, compiler and architectures of a build: chosen together, for each limits the others.

The toolkit is of torch's major version, and has a compiler beside it. Where none is installed, one
for CUDA 13 is assembled from wheels; those for CUDA 12 have no nvcc.

Two tables decide on the compiler. nvcc refuses a `_MSC_VER` outside of its range
(crt/host_config.h), and the standard library of a toolset refuses a CUDA below its floor (STL1002).
The latest toolset by vswhere is often too new, so the toolset is named:
`vcvarsall.bat x64 -vcvars_ver=14.44.35207`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.build import archs
from tritonwin.build import recipe as tables
from tritonwin.build.order import Request
from tritonwin.build.origin import SourceOrigin
from tritonwin.build.plan import Notes, Toolkit, ToolkitOrigin, Toolset
from tritonwin.facts.records import CudaToolkit
from tritonwin.facts.toolchain.cuda import ToolkitPlace, describe
from tritonwin.facts.toolchain.parts import parts
from tritonwin.support.versions import fits
from tritonwin.system.files import same_place, version_key

_PROBLEM = "cuda-toolkit-for-build"
_LACKING = "vs-components-missing"
_MISMATCH = "nvcc-host-compiler-mismatch"
_ORIGINS: dict[str, ToolkitOrigin] = {"conda": "conda", "pip-cu13": "packages"}
_MSVC = "--msvc"
_CXX = "CXX="  # the variable, on other systems than Windows
_ANY = ">=14.20"  # older ones lack the C++ of any torch in use


@dataclass(frozen=True, kw_only=True)
class Tools:
    """A toolkit with the compiler that goes with it.

    Attributes:
        tokens: the architectures, as words of the source.
    """

    toolkit: Toolkit | None
    toolset: Toolset | None
    tokens: tuple[str, ...]


def choose(request: Request, origin: SourceOrigin) -> Tools:
    """The best toolkit with which everything fits; if none does, the best one with its refusals."""
    if not request.recipe.needs_cuda:
        return _with(request, origin, None)
    tried: list[tuple[Tools, Notes]] = []
    for candidate in toolkits(request):
        attempt = replace(request, notes=Notes())
        tried.append((_with(attempt, origin, candidate), attempt.notes))
        if not attempt.notes.refusals:
            request.notes.take_over(attempt.notes)
            return tried[-1][0]
    if tried:
        request.notes.take_over(tried[0][1])
        return tried[0][0]
    message = none_fits(request)
    request.notes.because("CUDA", "none", message, "--cuda")
    request.notes.refuse(
        message,
        f"Install it: conda install -c nvidia cuda-toolkit={request.torch_cuda or '13.0'}, or "
        "NVIDIA's installer, and name its folder: --cuda DIR",
        _PROBLEM,
    )
    return _with(request, origin, None)


def _with(request: Request, origin: SourceOrigin, chosen: Toolkit | None) -> Tools:
    notes, version = request.notes, chosen.version if chosen else None
    if chosen:
        where = "assembled from the package index" if chosen.parts else f"in {chosen.path}"
        notes.because("CUDA", f"{version} {where}", _reason(chosen, request.torch_cuda), "--cuda")
    wants = origin.release.cuda if origin.release else ""
    if wants and version is not None and not fits(version, wants):
        notes.refuse(
            f"{request.recipe.name} {origin.version} wants CUDA {wants}, this is {version}",
            "Name another toolkit (--cuda) or another version (--version).",
            _PROBLEM,
        )
    toolset: Toolset | None = None
    if request.windows:
        toolset = _msvc(request, chosen)
    elif request.machine.elsewhere:
        notes.because("toolset", "not known", "a snapshot says nothing of c++", _CXX)
    else:
        toolset = _cxx(request)
    tokens = archs.choose(
        request.recipe,
        origin.version,
        version,
        # without a toolkit nothing can be said against architectures
        notes if chosen else replace(notes, refusals=[]),
        gpus=[g.compute_capability for g in request.facts.nvidia_gpus if g.compute_capability],
        asked=request.order.archs,
        windows=request.windows,
    )
    return Tools(toolkit=chosen, toolset=toolset, tokens=tokens)


def _reason(chosen: Toolkit, torch_cuda: str | None) -> str:
    if torch_cuda is None:
        return "the first that is complete"
    what = f"torch is built for CUDA {torch_cuda}"
    if chosen.parts:
        size = sum(part.size or 0 for part in chosen.parts) / 2**20
        what += f"; {len(chosen.parts)} wheels of {size:.0f} MB, since none is installed"
    if _matches(chosen.version, torch_cuda):
        return what
    return f"{what}; torch only warns of another minor version"


# --- the CUDA toolkit


def toolkits(request: Request) -> Iterator[Toolkit]:
    """Toolkits that can build for this torch, the best first.

    torch refuses another major version than its own and warns of another minor one. A toolkit that
    is there comes before one that would be assembled.
    """
    asked, torch_cuda, windows = request.order.cuda, request.torch_cuda, request.windows
    named = _named(request)
    fitting, assembled = [], []
    for there in [named] if named else request.facts.cuda_toolkits:
        version = there.version or ""
        short = ".".join(version.split(".")[:2])
        other = asked and not named and not _matches(short, asked)
        if other or toolkit_misfit(there, torch_cuda):
            continue
        msvc = tables.msvc_for(version)
        if windows and there.host_msvc_max and msvc:
            # `_MSC_VER` 1949 is toolset 14.49
            msvc = f"{msvc.split(',')[0]},<14.{int(there.host_msvc_max) - 1899}"
        origin = _ORIGINS.get(there.layout, "system")
        fitting.append(Toolkit(origin=origin, path=there.path, version=short, msvc=msvc))
    for version in tables.assembled_versions():
        fits_torch = torch_cuda is None or _major(version) == _major(torch_cuda)
        if fits_torch and asked in {None, "assembled", version}:
            made_of = tables.parts_of(version, windows=windows)
            msvc = tables.msvc_for(version)
            assembled.append(
                Toolkit(origin="assembled", path="", version=version, msvc=msvc, parts=made_of)
            )
    for group in (fitting, assembled):
        yield from sorted(group, key=lambda t: _distance(t.version, torch_cuda))


def toolkit_misfit(toolkit: CudaToolkit, torch_cuda: str | None) -> str:
    """The reason against a toolkit for a build, in words; empty if it is complete and fits."""
    if not toolkit.exists:
        return "the folder does not exist"
    lacking = {part for part in toolkit.missing if part in parts().cuda.build}
    if toolkit.nvcc is None:  # what Triton brings along is whole without it
        lacking.add("nvcc")
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
    reasons = [(t.path, toolkit_misfit(t, torch_cuda)) for t in every]
    each = "; ".join(f"{path} ({why})" for path, why in reasons if why)
    there = "there is none" if asked is None else f"--cuda {asked} names none"
    return f"the build needs {wants}, and {there}{f'; not taken: {each}' if each else ''}"


def _matches(version: str, asked: str) -> bool:
    """True if a version is the one that was asked for, or of its series."""
    return version == asked or version.startswith(f"{asked.rstrip('.')}.")


def _named(request: Request) -> CudaToolkit | None:
    """The toolkit in the folder that was asked for; None where a version was, or nothing."""
    asked = request.order.cuda
    if not asked or asked == "assembled" or re.fullmatch(r"\d{1,2}(\.\d{1,2})?", asked):
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


# --- the compiler


def _msvc(request: Request, cuda: Toolkit | None) -> Toolset | None:
    """The newest toolset that the toolkit and the recipe accept, and that accepts the toolkit."""
    notes, asked, wants = request.notes, request.order.msvc, request.recipe.msvc
    usable = [t for t in request.facts.msvc if t.version and t.compiler and t.vcvarsall]
    version, accepts = (cuda.version, cuda.msvc) if cuda else (None, "")
    against = {t.version: toolset_misfit(t.version, version, accepts, wants) for t in usable}
    named = [t for t in usable if asked is None or _matches(t.version, asked)]
    if fitting := [t for t in named if not against[t.version]]:
        best = max(fitting, key=lambda t: (not t.missing, version_key(t.version)))
        newer = [t.version for t in usable if version_key(t.version) > version_key(best.version)]
        rejected = [f"not {each}: {against[each]}" for each in newer]
        reason = "asked for" if asked else "; ".join(["the newest of the fitting ones", *rejected])
        notes.because("toolset", f"MSVC {best.version} of {best.product}", reason, _MSVC)
        return Toolset(
            product=best.product,
            version=best.version,
            compiler=best.compiler or "",
            vcvarsall=best.vcvarsall,
        )
    if not usable:
        message, problem = "there is no Visual C++ with its 64-bit tools", _LACKING
        help_text = (
            "Install the Build Tools for Visual Studio 2022 with the workload Desktop development "
            "with C++: winget install Microsoft.VisualStudio.2022.BuildTools"
        )
    else:
        each = "; ".join(f"{t.version} of {t.product}: {against[t.version]}" for t in named)
        message, problem = f"no MSVC toolset goes with CUDA {version}: {each}", _MISMATCH
        good = "14.44" if not accepts or fits("14.44", accepts) else "14.39"
        if not named:
            have = ", ".join(t.version for t in usable)
            message, problem = f"there is no MSVC toolset {asked}; there are {have}", _LACKING
            good = asked or ""
        help_text = (
            f"Add the component 'MSVC v143 - VS 2022 C++ x64/x86 build tools (v{good})' in the "
            "Visual Studio Installer, under Individual components; it stands beside newer ones. "
            "Or take another toolkit: --cuda VERSION"
        )
    notes.because("toolset", "none", message, _MSVC)
    notes.refuse(message, help_text, problem)
    return None


def toolset_misfit(version: str, cuda: str | None, accepts: str = "", wants: str = "") -> str:
    """The reason against a toolset, in words; empty if it fits."""
    spec = accepts or (tables.msvc_for(cuda) if cuda else "")
    if spec and not fits(version, spec):
        return f"nvcc of CUDA {cuda} accepts {spec}"
    floor = tables.toolchain("stl", version) if cuda else ""
    if cuda and floor and not fits(cuda, floor):
        return f"its standard library wants CUDA {floor} (STL1002)"
    if wants and not fits(version, wants):
        return f"the recipe wants {wants}"
    if not fits(version, _ANY):
        return f"older than {_ANY.removeprefix('>=')}"
    return ""


def _cxx(request: Request) -> Toolset | None:
    """The C++ compiler that PATH has, or CXX names, which torch takes as well."""
    host, asked = request.host, (request.host.env.get("CXX") or "").strip()
    named = asked or "c++"
    program = Path(named) if "/" in named else next(iter(host.executables(named)), None)
    if program is not None:
        why = "the variable CXX" if asked else "the first one on PATH"
        request.notes.because("toolset", str(program), why, _CXX)
        return Toolset(product="c++", version="", compiler=str(program))
    message = f"there is no C++ compiler: {named} is not on PATH"
    request.notes.because("toolset", "none", message, _CXX)
    request.notes.refuse(message, "Install g++.", "no-c-compiler")
    return None

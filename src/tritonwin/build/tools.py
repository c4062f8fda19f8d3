"""Toolkit, compiler and architectures of a build: chosen together, for each limits the others.

Two tables decide on the compiler. nvcc refuses a `_MSC_VER` outside of its range
(crt/host_config.h), and the standard library of a toolset refuses a CUDA below its floor (STL1002).
The latest toolset by vswhere is often too new, so the toolset is named:
`vcvarsall.bat x64 -vcvars_ver=14.44.35207`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.build import archs, toolkit
from tritonwin.build import recipe as tables
from tritonwin.build.order import Request
from tritonwin.build.origin import SourceOrigin
from tritonwin.build.plan import Notes, Toolkit, Toolset
from tritonwin.support.versions import fits
from tritonwin.system import process
from tritonwin.system.files import version_key
from tritonwin.system.host import Host

_MSVC = "--msvc"
_CXX = "CXX="  # the variable, on other systems than Windows
_SECONDS = 20.0
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
    for candidate in toolkit.candidates(request):
        attempt = replace(request, notes=Notes())
        tried.append((_with(attempt, origin, candidate), attempt.notes))
        if not attempt.notes.refusals:
            break
    if not tried:
        message = toolkit.none_fits(request)
        request.notes.because("CUDA", "none", message, "--cuda")
        request.notes.refuse(
            message,
            f"Install it: conda install -c nvidia cuda-toolkit={request.torch_cuda or '13.0'}, or "
            "NVIDIA's installer, and name its folder: --cuda DIR",
            toolkit.PROBLEM,
        )
        return _with(request, origin, None)
    found, notes = next((t for t in tried if not t[1].refusals), tried[0])
    request.notes.take_over(notes)
    return found


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
            toolkit.PROBLEM,
        )
    toolset: Toolset | None = None
    if request.windows:
        toolset = _msvc(request, chosen)
    elif request.machine.elsewhere:
        notes.because("toolset", "not known", "a snapshot says nothing of c++", _CXX)
    else:
        toolset = choose_gcc(request.host, version, notes)
    # without a toolkit nothing can be said against architectures
    of_archs = Notes()
    tokens = archs.choose(
        request.recipe,
        origin.version,
        version,
        of_archs,
        gpus=[g.compute_capability for g in request.facts.nvidia_gpus if g.compute_capability],
        asked=request.order.archs,
        windows=request.windows,
    )
    if chosen is None:
        of_archs.refusals.clear()
    notes.take_over(of_archs)
    return Tools(toolkit=chosen, toolset=toolset, tokens=tokens)


def _reason(chosen: Toolkit, torch_cuda: str | None) -> str:
    if torch_cuda is None:
        return "the first that is complete"
    what = f"torch is built for CUDA {torch_cuda}"
    if chosen.parts:
        size = sum(part.size or 0 for part in chosen.parts) / 2**20
        what += f"; {len(chosen.parts)} wheels of {size:.0f} MB, since none is installed"
    if toolkit.matches(chosen.version, torch_cuda):
        return what
    return f"{what}; torch only warns of another minor version"


# --- the compiler


def _msvc(request: Request, cuda: Toolkit | None) -> Toolset | None:
    """The newest toolset that the toolkit and the recipe accept, and that accepts the toolkit."""
    notes, asked = request.notes, request.order.msvc
    usable = [t for t in request.facts.msvc if t.version and t.compiler and t.vcvarsall]
    version, accepts = (cuda.version, cuda.msvc) if cuda else (None, "")
    wants = request.recipe.msvc
    against = {
        t.version: why_not(t.version, cuda=version, accepts=accepts, wants=wants) for t in usable
    }
    named = [t for t in usable if asked is None or toolkit.matches(t.version, asked)]
    fitting = [t for t in named if not against[t.version]]
    if fitting:
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
    problem = "vs-components-missing"
    if not usable:
        message = "there is no Visual C++ with its 64-bit tools"
        help_text = (
            "Install the Build Tools for Visual Studio 2022 with the workload Desktop development "
            "with C++: winget install Microsoft.VisualStudio.2022.BuildTools"
        )
    elif not named:
        have = ", ".join(t.version for t in usable)
        message = f"there is no MSVC toolset {asked}; there are {have}"
        help_text = _install(asked or "")
    else:
        problem = "nvcc-host-compiler-mismatch"
        each = "; ".join(f"{t.version} of {t.product}: {against[t.version]}" for t in named)
        message = f"no MSVC toolset goes with CUDA {version}: {each}"
        good = "14.44" if not accepts or fits("14.44", accepts) else "14.39"
        help_text = f"{_install(good)} Or take another toolkit: --cuda VERSION"
    notes.because("toolset", "none", message, _MSVC)
    notes.refuse(message, help_text, problem)
    return None


def why_not(version: str, *, cuda: str | None, accepts: str = "", wants: str = "") -> str:
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


def _install(version: str) -> str:
    return (
        "Add the component 'MSVC v143 - VS 2022 C++ x64/x86 build tools"
        f" (v{version})' in the Visual Studio Installer, under Individual components; "
        "it stands beside newer ones."
    )


def choose_gcc(host: Host, cuda: str | None, notes: Notes) -> Toolset | None:
    """The C++ compiler that PATH has, which torch takes as well."""
    named = (host.env.get("CXX") or "").strip() or "c++"
    program = Path(named) if "/" in named else next(iter(host.executables(named)), None)
    newest = int(tables.toolchain("gcc", cuda) or 0) if cuda else 0
    version = ""
    if program is not None:
        # another compiler says something else, or nothing
        with suppress(OSError, ValueError):
            done = process.run(program, ("-dumpfullversion",), timeout=_SECONDS)
            found = re.match(rb"\d{1,3}(?:\.\d{1,3}){0,2}", done.out if done.code == 0 else b"")
            version = found[0].decode() if found else ""
    if program is None:
        message, help_text = f"there is no C++ compiler: {named} is not on PATH", "Install g++."
        problem = "no-c-compiler"
    elif newest and version and int(version.split(".")[0]) > newest:
        message = f"nvcc of CUDA {cuda} accepts gcc up to {newest}, and {program} is {version}"
        help_text = f"Name an older one in the variable CXX: CXX=g++-{newest}"
        problem = "nvcc-host-compiler-mismatch"
    else:
        why = "the variable CXX" if host.env.get("CXX") else "the first one on PATH"
        notes.because("toolset", f"{program} {version}".strip(), why, _CXX)
        return Toolset(product="c++", version=version, compiler=str(program))
    notes.because("toolset", "none", message, _CXX)
    notes.refuse(message, help_text, problem)
    return None

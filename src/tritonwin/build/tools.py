"""Toolkit, compiler and architectures of a build: chosen together, for each limits the others.

The toolkit is of torch's major version, and has a compiler beside it. Where none is installed, one
for CUDA 13 is assembled from wheels; those for CUDA 12 have no nvcc.

Two tables decide on the compiler. nvcc refuses a `_MSC_VER` outside of its range
(crt/host_config.h), and the standard library of a toolset refuses a CUDA below its floor (STL1002).
The latest toolset by vswhere is often too new, so the toolset is named:
`vcvarsall.bat x64 -vcvars_ver=14.44.35207`.

The architectures are those of the GPUs, or what was asked for, in the words that the source knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.build import recipe as tables
from tritonwin.build.order import Request
from tritonwin.build.recipe import ArchRule, ArchToken, SourceRelease
from tritonwin.build.records import Notes, Toolkit, ToolkitOrigin, Toolset
from tritonwin.facts.records import CudaToolkit
from tritonwin.facts.toolchain.cuda import ToolkitPlace, describe
from tritonwin.facts.toolchain.parts import parts
from tritonwin.support.versions import fits
from tritonwin.system.files import same_place, version_key

_PROBLEM = "cuda-toolkit-for-build"
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


def choose(request: Request, version: str, release: SourceRelease | None) -> Tools:
    """The best toolkit with which everything fits; if none does, the best one with its refusals.

    Args:
        version: of the source.
        release: the recipe's row for it; None: it knows none.
    """
    if not request.recipe.needs_cuda:
        return _with(request, version, release, None)
    tried: list[tuple[Tools, Notes]] = []
    candidates, against = toolkits(request)
    for candidate in candidates:
        attempt = replace(request, notes=Notes())
        tried.append((_with(attempt, version, release, candidate), attempt.notes))
        if not attempt.notes.refusals:
            request.notes.take_over(attempt.notes)
            return tried[-1][0]
    if tried:
        request.notes.take_over(tried[0][1])
        return tried[0][0]
    asked, cuda = request.order.cuda, request.torch_cuda
    wants = f"a toolkit of CUDA {_major(cuda)}" if cuda else "a CUDA toolkit"
    there = "there is none" if asked is None else f"--cuda {asked} names none"
    message = f"the build needs {wants}, and {there}"
    message += f"; not taken: {'; '.join(against)}" if against else ""
    request.notes.because("CUDA", "none", message, "--cuda")
    request.notes.refuse(
        message,
        f"Install it: conda install -c nvidia cuda-toolkit={cuda or '13.0'}, or "
        "NVIDIA's installer, and name its folder: --cuda DIR",
        _PROBLEM,
    )
    return _with(request, version, release, None)


def _with(
    request: Request, version: str, release: SourceRelease | None, chosen: Toolkit | None
) -> Tools:
    notes, cuda = request.notes, chosen.version if chosen else None
    if chosen:
        where = "assembled from the package index" if chosen.parts else f"in {chosen.path}"
        notes.because("CUDA", f"{cuda} {where}", _reason(chosen, request.torch_cuda), "--cuda")
    wants = release.cuda if release else ""
    if wants and cuda is not None and not fits(cuda, wants):
        notes.refuse(
            f"{request.recipe.name} {version} wants CUDA {wants}, this is {cuda}",
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
    # without a toolkit nothing can be said against architectures
    notes = notes if chosen else replace(notes, refusals=[])
    tokens = choose_archs(replace(request, notes=notes), version, cuda)
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


def toolkits(request: Request) -> tuple[list[Toolkit], list[str]]:
    """Toolkits that can build for this torch, the best first; of each other one why it cannot.

    torch refuses another major version than its own and warns of another minor one. A toolkit that
    is there comes before one that would be assembled.
    """
    asked, torch_cuda, windows = request.order.cuda, request.torch_cuda, request.windows
    named = _named(request)
    fitting, assembled, against = [], [], []
    for there in [named] if named else request.facts.cuda_toolkits:
        version = there.version or ""
        short = ".".join(version.split(".")[:2])
        why = _misfit(there, torch_cuda)
        if not why and asked and not named and not _matches(short, asked):
            why = f"is CUDA {short}"
        if why:
            against.append(f"{there.path} ({why})")
            continue
        msvc = tables.msvc_for(version)
        if windows and there.host_msvc_max and msvc:
            # `_MSC_VER` 1949 is toolset 14.49
            msvc = f"{msvc.split(',')[0]},<14.{int(there.host_msvc_max) - 1899}"
        origin = _ORIGINS.get(there.layout, "system")
        fitting.append(Toolkit(origin=origin, path=there.path, version=short, msvc=msvc))
    for version, made_of in tables.assembled(windows=windows).items():
        fits_torch = torch_cuda is None or _major(version) == _major(torch_cuda)
        if fits_torch and asked in {None, "assembled", version}:
            msvc = tables.msvc_for(version)
            assembled.append(
                Toolkit(origin="assembled", path="", version=version, msvc=msvc, parts=made_of)
            )
    for group in (fitting, assembled):
        group.sort(key=lambda t: _distance(t.version, torch_cuda))
    return [*fitting, *assembled], against


def _misfit(toolkit: CudaToolkit, torch_cuda: str | None) -> str:
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
    return describe(ToolkitPlace(path, "--cuda"), windows=request.windows)


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
    notes, asked = request.notes, request.order.msvc
    usable = [t for t in request.facts.msvc if t.version and t.compiler and t.vcvarsall]
    against = {t.version: _toolset_misfit(t.version, cuda, request) for t in usable}
    if fitting := [t for t in usable if not against[t.version]]:
        best = max(fitting, key=lambda t: (not t.missing, version_key(t.version)))
        newer = [t.version for t in usable if version_key(t.version) > version_key(best.version)]
        rejected = [f"not {each}: {against[each]}" for each in newer if against[each]]
        reason = "asked for" if asked else "; ".join(["the newest of the fitting ones", *rejected])
        notes.because("toolset", f"MSVC {best.version} of {best.product}", reason, _MSVC)
        return Toolset(
            product=best.product,
            version=best.version,
            compiler=best.compiler or "",
            vcvarsall=best.vcvarsall,
        )
    message, problem = "there is no Visual C++ with its 64-bit tools", "vs-components-missing"
    help_text = (
        "Install the Build Tools for Visual Studio 2022 with the workload Desktop development "
        "with C++: winget install Microsoft.VisualStudio.2022.BuildTools"
    )
    if usable:
        each = "; ".join(f"{t.version} of {t.product}: {against[t.version]}" for t in usable)
        goes = f"goes with CUDA {cuda.version}" if cuda else "fits"
        message, problem = f"no MSVC toolset {goes}: {each}", "nvcc-host-compiler-mismatch"
        good = "14.44" if not (cuda and cuda.msvc) or fits("14.44", cuda.msvc) else "14.39"
        help_text = (
            f"Add the component 'MSVC v143 - VS 2022 C++ x64/x86 build tools (v{good})' in the "
            "Visual Studio Installer, under Individual components; it stands beside newer ones. "
            "Or take another toolkit: --cuda VERSION"
        )
    notes.because("toolset", "none", message, _MSVC)
    notes.refuse(message, help_text, problem)
    return None


def _toolset_misfit(version: str, cuda: Toolkit | None, request: Request) -> str:
    """The reason against a toolset, in words; empty if it fits."""
    asked, wants = request.order.msvc, request.recipe.msvc
    if asked and not _matches(version, asked):
        return f"--msvc asks for {asked}"
    if cuda and cuda.msvc and not fits(version, cuda.msvc):
        return f"nvcc of CUDA {cuda.version} accepts {cuda.msvc}"
    floor = tables.toolchain("stl", version) if cuda else ""
    if cuda and floor and not fits(cuda.version, floor):
        return f"its standard library wants CUDA {floor} (STL1002)"
    if wants and not fits(version, wants):
        return f"the recipe wants {wants}"
    return "" if fits(version, _ANY) else f"older than {_ANY.removeprefix('>=')}"


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


# --- the architectures


def capability(token: str) -> str:
    """The compute capability of a word of the source: "8.9" for "89" and "8.9"."""
    return token if "." in token else f"{token[:-1]}.{token[-1]}"


def choose_archs(request: Request, version: str, cuda: str | None) -> tuple[str, ...]:
    """The architectures of a build as words of the source; empty where the recipe has none.

    Args:
        version: of the source.
        cuda: the version of the toolkit.
    """
    recipe, notes, asked = request.recipe, request.notes, request.order.archs
    rule = recipe.arch
    if rule is None:
        return ()
    gpus = [g.compute_capability for g in request.facts.nvidia_gpus if g.compute_capability]
    wanted = tuple(dict.fromkeys(asked or gpus))
    on = request.circumstances(version, cuda)
    known = [token for token in rule.tokens if token.holds(on)]
    if rule.any and cuda:
        archs = tables.toolchain("nvcc", cuda).split()
        known = [*(ArchToken(token=arch, serves=(arch,)) for arch in archs), *known]
    found = {arch: _token_for(arch, known, rule) for arch in wanted}
    tokens = [token.token for token in found.values() if token]
    if not wanted:
        reason = "no NVIDIA GPU is here, and none is asked for"
        notes.refuse(
            "there is no NVIDIA GPU here whose architecture could be compiled for",
            "Name the compute capability of the GPU that it is for: --arch 8.9 (RTX 40)",
            "build-arch-unknown",
        )
    elif rule.reads_variable(version):
        reason = f"{'asked for' if asked else 'the GPUs of this machine'}: {', '.join(wanted)}"
        if {a.rstrip("af") for a in wanted} != {capability(t).rstrip("af") for t in tokens}:
            reason += "; code for an architecture runs on the later ones of its generation"
    else:
        tokens = [token.token for token in known]
        reason = f"{recipe.name} {version} compiles for all of them, whatever is asked for"
    served = sorted({arch for token in known for arch in token.serves}, key=float)
    for arch in (arch for arch, token in found.items() if token is None):
        notes.refuse(
            f"{recipe.name} {version} with CUDA {cuda} does not compile for {arch}"
            + _conditions(arch, rule),
            f"It compiles for {', '.join(served)}: --arch, --version, --cuda" if served else "",
            "gpu-generation-unsupported",
        )
    tokens = list(dict.fromkeys(tokens))
    notes.because("archs", ", ".join(map(capability, tokens)) or "none", reason, "--arch")
    return tuple(tokens)


def _token_for(arch: str, known: Sequence[ArchToken], rule: ArchRule) -> ArchToken | None:
    """A word that is this very architecture, or the one whose code it runs."""
    plain = arch.rstrip("af")
    exact = next((t for t in known if t.token in {arch, arch.replace(".", "")}), None)
    serving = next((t for t in reversed(known) if plain in t.serves), None)
    if exact or serving is None or arch == plain or not rule.any:
        return exact or serving
    # nvcc has code for one architecture alone from 9.0a on, for a family from 10.0f on
    exists = float(plain) >= (9.0 if arch.endswith("a") else 10.0)
    return ArchToken(token=arch, serves=(plain,)) if exists else None


def _conditions(arch: str, rule: ArchRule) -> str:
    """The versions that each word for an architecture wants, as the end of a sentence."""
    words = [token for token in rule.tokens if arch.rstrip("af") in token.serves]
    wants = [{"version": word.version, "CUDA": word.cuda} for word in words]
    ways = [" and ".join(f"{name} {spec}" for name, spec in each.items() if spec) for each in wants]
    return f"; it takes {', or '.join(ways)}" if any(ways) else ""

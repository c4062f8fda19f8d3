"""Toolkit, compiler and architectures of a build: chosen together, for each limits the others.

Two tables decide on the compiler. nvcc refuses a `_MSC_VER` outside of its range
(crt/host_config.h), and the standard library of a toolset refuses a CUDA below its floor (STL1002).
The latest toolset by vswhere is often too new, so the toolset is named:
`vcvarsall.bat x64 -vcvars_ver=14.44.35207`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.build import archs, toolkit
from tritonwin.build import recipe as tables
from tritonwin.build.archs import Archs
from tritonwin.build.order import Request
from tritonwin.build.origin import SourceOrigin
from tritonwin.build.plan import Toolkit, Toolset
from tritonwin.facts.records import MsvcToolset
from tritonwin.support.choice import Choice, Obstacle, Reason
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
    """A toolkit with the compiler and the architectures that go with it."""

    toolkit: Toolkit | None
    toolset: Toolset | None
    archs: Archs


def choose(request: Request, origin: SourceOrigin) -> Choice[Tools]:
    """The best toolkit with which everything fits; if none does, the best one with its refusals."""
    if not request.recipe.needs_cuda:
        return _with(request, origin, None)
    found, asked = request.facts.cuda_toolkits, request.order.cuda
    first: Choice[Tools] | None = None
    for candidate in toolkit.candidates(
        found, torch_cuda=request.torch_cuda, asked=asked, windows=request.windows
    ):
        tools = _with(request, origin, candidate)
        if not tools.refusals:
            return tools
        first = first or tools
    if first:
        return first
    none = toolkit.refusal(found, request.torch_cuda, asked, windows=request.windows)
    tools = _with(request, origin, None)
    reason = Reason(name="CUDA", value="none", reason=none.message, flag="--cuda")
    return replace(tools, reasons=(reason, *tools.reasons), refusals=(none, *tools.refusals))


def _with(request: Request, origin: SourceOrigin, chosen: Toolkit | None) -> Choice[Tools]:
    version = chosen.version if chosen else None
    gpus = [g.compute_capability for g in request.facts.gpus if g.vendor == "nvidia"]
    code = archs.choose(
        request.recipe,
        origin.version,
        version,
        gpus=[gpu for gpu in gpus if gpu],
        asked=request.order.archs,
        windows=request.windows,
    )
    if request.windows:
        compiler = choose_msvc(
            request.facts.msvc,
            cuda=version,
            accepts=chosen.msvc if chosen else "",
            wants=request.recipe.msvc,
            asked=request.order.msvc,
        )
    else:
        compiler = choose_gcc(request.host, version)
    # without a toolkit nothing can be said of architectures
    unfit = code.refusals if chosen else ()
    return Choice(
        value=Tools(toolkit=chosen, toolset=compiler.value, archs=code.value),
        reasons=(*_toolkit_reason(chosen, request), *compiler.reasons, *code.reasons),
        refusals=(*_too_old(request, origin, version), *compiler.refusals, *unfit),
    )


def _toolkit_reason(chosen: Toolkit | None, request: Request) -> Sequence[Reason]:
    if chosen is None:
        return ()
    where = "assembled from the package index" if chosen.parts else f"in {chosen.path}"
    reason = toolkit.reason(chosen, request.torch_cuda)
    return (Reason(name="CUDA", value=f"{chosen.version} {where}", reason=reason, flag="--cuda"),)


def _too_old(request: Request, origin: SourceOrigin, version: str | None) -> Sequence[Obstacle]:
    wants = origin.release.cuda if origin.release else ""
    if not wants or version is None or fits(version, wants):
        return ()
    return (
        Obstacle(
            problem=toolkit.PROBLEM,
            message=f"{request.recipe.name} {origin.version} wants CUDA {wants}, this is {version}",
            help="Name another toolkit (--cuda) or another version (--version).",
        ),
    )


# --- the compiler


def choose_msvc(
    found: Sequence[MsvcToolset],
    *,
    cuda: str | None,
    accepts: str = "",
    wants: str = "",
    asked: str | None = None,
) -> Choice[Toolset | None]:
    """The newest toolset that the toolkit and the recipe accept, and that accepts the toolkit.

    Args:
        found: every toolset of the machine.
        cuda: version of the toolkit; None where the build uses none.
        accepts: the toolsets that the toolkit's nvcc accepts; empty: by the table.
        wants: what the recipe asks for besides.
        asked: the beginning of a version, such as "14.44".
    """
    usable = [t for t in found if t.version and t.compiler and t.vcvarsall]
    if not usable:
        return _none(_NO_MSVC)
    against = {
        t.version: why_not(t.version, cuda=cuda, accepts=accepts, wants=wants) for t in usable
    }
    named = [t for t in usable if asked is None or _starts(t.version, asked)]
    if not named:
        have = ", ".join(t.version for t in usable)
        msg = f"there is no MSVC toolset {asked}; there are {have}"
        return _none(Obstacle(problem="vs-components-missing", message=msg, help=_install(asked)))
    fitting = [t for t in named if not against[t.version]]
    if not fitting:
        return _none(_no_fit(named, against, cuda, accepts))
    best = max(fitting, key=lambda t: (not t.missing, version_key(t.version)))
    newer = [t.version for t in usable if version_key(t.version) > version_key(best.version)]
    rejected = [f"not {version}: {against[version]}" for version in newer]
    reason = "asked for" if asked else "; ".join(["the newest of the fitting ones", *rejected])
    return Choice(
        value=Toolset(
            product=best.product,
            version=best.version,
            compiler=best.compiler or "",
            vcvarsall=best.vcvarsall,
        ),
        reasons=(_reason(f"MSVC {best.version} of {best.product}", reason, _MSVC),),
    )


def why_not(version: str, *, cuda: str | None, accepts: str = "", wants: str = "") -> str:
    """The reason against a toolset, in words; empty if it fits."""
    spec = accepts or (tables.msvc_for(cuda) if cuda else "")
    if spec and not fits(version, spec):
        return f"nvcc of CUDA {cuda} accepts {spec}"
    floor = tables.cuda_for(version) if cuda else ""
    if cuda and floor and not fits(cuda, floor):
        return f"its standard library wants CUDA {floor} (STL1002)"
    if wants and not fits(version, wants):
        return f"the recipe wants {wants}"
    if not fits(version, _ANY):
        return f"older than {_ANY.removeprefix('>=')}"
    return ""


def choose_gcc(host: Host, cuda: str | None) -> Choice[Toolset | None]:
    """The C++ compiler that PATH has, which torch takes as well."""
    named = (host.env.get("CXX") or "").strip() or "c++"
    program = Path(named) if "/" in named else next(iter(host.executables(named)), None)
    if program is None:
        msg = f"there is no C++ compiler: {named} is not on PATH"
        return _none(Obstacle(problem="no-c-compiler", message=msg, help="Install g++."), _CXX)
    version = _gcc_version(program)
    newest = tables.newest_gcc(cuda) if cuda else None
    major = int(version.split(".")[0]) if version else None
    if newest and major and major > newest:
        msg = f"nvcc of CUDA {cuda} accepts gcc up to {newest}, and {program} is {version}"
        return _none(
            Obstacle(
                problem="nvcc-host-compiler-mismatch",
                message=msg,
                help=f"Name an older one in the variable CXX: CXX=g++-{newest}",
            ),
            _CXX,
        )
    return Choice(
        value=Toolset(product="c++", version=version or "", compiler=str(program)),
        reasons=(
            _reason(
                f"{program} {version or ''}".strip(),
                "the variable CXX" if host.env.get("CXX") else "the first one on PATH",
                _CXX,
            ),
        ),
    )


def _gcc_version(program: Path) -> str | None:
    """ "12.2.0"; None for another compiler, or one that does not answer."""
    try:
        done = process.run(program, ("-dumpfullversion",), timeout=_SECONDS)
    except (OSError, ValueError):
        return None
    found = re.match(rb"\d{1,3}(?:\.\d{1,3}){0,2}", done.out)
    return found[0].decode() if found and done.code == 0 else None


_NO_MSVC = Obstacle(
    problem="vs-components-missing",
    message="there is no Visual C++ with its 64-bit tools",
    help="Install the Build Tools for Visual Studio 2022 with the workload Desktop development "
    "with C++: winget install Microsoft.VisualStudio.2022.BuildTools",
)


def _none(refusal: Obstacle, flag: str = _MSVC) -> Choice[Toolset | None]:
    reason = _reason("none", refusal.message, flag)
    return Choice(value=None, reasons=(reason,), refusals=(refusal,))


def _reason(value: str, reason: str, flag: str) -> Reason:
    return Reason(name="toolset", value=value, reason=reason, flag=flag)


def _no_fit(
    named: Iterable[MsvcToolset], against: dict[str, str], cuda: str | None, accepts: str
) -> Obstacle:
    each = "; ".join(f"{t.version} of {t.product}: {against[t.version]}" for t in named)
    spec = accepts or (tables.msvc_for(cuda) if cuda else "")
    good = "14.44" if not spec or fits("14.44", spec) else "14.39"
    return Obstacle(
        problem="nvcc-host-compiler-mismatch",
        message=f"no MSVC toolset goes with CUDA {cuda}: {each}",
        help=f"{_install(good)} Or take another toolkit: --cuda VERSION",
    )


def _install(version: str | None) -> str:
    return (
        "Add the component 'MSVC v143 - VS 2022 C++ x64/x86 build tools"
        f" (v{version or '14.44'})' in the Visual Studio Installer, under Individual components; "
        "it stands beside newer ones."
    )


def _starts(version: str, asked: str) -> bool:
    return version == asked or version.startswith(asked.rstrip(".") + ".")

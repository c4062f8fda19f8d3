"""DLLs: the VC runtime that is loaded, and compiled extensions with their dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tritonwin.facts.model import Distribution, ExtensionFile, Facts, RuntimeDll
from tritonwin.problems.check import Check, NotApplicable, finding, need_torch
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support.matrix import older, series

# Code compiled by toolset 14.40 or later initialises std::mutex at compile time; an older
# msvcp140.dll then locks a null pointer (release notes of Visual Studio 2022 17.10). The functions
# themselves are all there: those that libtriton imports are exported by 14.29 already.
_MUTEX_BREAK = "14.40"

_FLASH = ("flash-attn", "flash-attn-3")
_SAGE = ("sageattention", "sageattn3", "spas-sage-attn")


def _loaded(facts: Facts, name: str) -> RuntimeDll | None:
    return next((d for d in facts.runtime_dlls if d.name == name and d.loaded), None)


def _needs_msvcp(facts: Facts) -> bool:
    imports = facts.triton.libtriton_imports if facts.triton else ()
    return facts.triton is None or any(i.lower() == "msvcp140.dll" for i in imports)


def vcredist_too_old(facts: Facts) -> Iterator[Finding]:
    dll = _loaded(facts, "msvcp140.dll")
    if dll is None or dll.version is None or not _needs_msvcp(facts):
        msg = "no msvcp140.dll of known version is loaded"
        raise NotApplicable(msg)
    linker = facts.triton.libtriton_linker if facts.triton else None
    broken = older(dll.version, _MUTEX_BREAK) and not older(linker, _MUTEX_BREAK)
    # Microsoft promises only that a runtime serves what older tools made. In System32 an update
    # sees to that; a copy beside python.exe stays as it is.
    risky = dll.place != "system32" and linker is not None and older(dll.version, linker)
    if not (broken or risky):
        return
    others = [
        Evidence(text=f"version {d.version} is there too, but is not the one loaded", where=d.path)
        for d in facts.runtime_dlls
        if d.name == dll.name and not d.loaded and d.version
    ]
    compiled = f"libtriton was linked by tools of {linker or _MUTEX_BREAK + ' or later'}"
    yield finding(
        "vcredist-too-old-beside-python",
        f"msvcp140.dll {dll.version} is the one that Python loads; {compiled}",
        dll.path,
        certainty="possible" if not broken else "certain" if linker else "likely",
        severity=None if broken else "warning",
        also=others,
        dll=dll.name,
        dll_version=dll.version,
        path=dll.path,
    )


def vcredist_missing(facts: Facts) -> Iterator[Finding]:
    if not facts.runtime_dlls:
        msg = "the places of the VC runtime were not read"
        raise NotApplicable(msg)
    if facts.triton and _needs_msvcp(facts) and _loaded(facts, "msvcp140.dll") is None:
        yield finding(
            "vcredist-missing",
            "libtriton.pyd needs msvcp140.dll, which is neither beside Python nor in System32",
            facts.triton.libtriton or facts.triton.location,
            dll="msvcp140.dll",
        )
    for extension in facts.extensions:
        for name in extension.unresolved:
            if re.match(r"(msvcp|vcruntime|vcomp|concrt)140", name.lower()):
                yield finding(
                    "vcredist-missing",
                    f"{extension.package} needs {name}, which was found nowhere",
                    extension.path,
                    dll=name,
                )


def flash_needs_cuda_dlls(facts: Facts) -> Iterator[Finding]:
    flash = [e for e in facts.extensions if e.package in _FLASH]
    if not flash:
        msg = "flash-attn is not installed"
        raise NotApplicable(msg)
    if need_torch(facts).cuda is None:
        return  # cpu-only-torch is the cause then
    for extension in flash:
        for name in extension.unresolved:
            if re.match(r"(cudart|cublas|cudnn|nvrtc|cufft|cusparse)", name.lower()):
                yield finding(
                    "flash-wheel-needs-cuda-dlls",
                    f"{extension.path} needs {name}, which torch does not bring along",
                    extension.path,
                    dll=name,
                )


def _built_for(dist: Distribution) -> tuple[str | None, str | None, bool]:
    """torch series and CUDA major in a wheel's local version, and whether newer torch will do.

    The grammar is that of the public Windows wheels: `2.8.3+cu128torch2.8.0`,
    `2.2.0+cu130torch2.9.0andhigher.post4`.
    """
    _, _, local = dist.version.partition("+")
    torch = re.search(r"torch(\d+\.\d+)", local)
    cuda = re.search(r"cu(\d{2})\d?", local)
    return (torch and torch[1]) or None, (cuda and cuda[1]) or None, "andhigher" in local


def _wheel_mismatch(facts: Facts, problem: str, names: tuple[str, ...]) -> Iterator[Finding]:
    dists = [d for n in names if (d := facts.distribution(n)) is not None]
    if not dists:
        msg = f"{names[0]} is not installed"
        raise NotApplicable(msg)
    torch = need_torch(facts)
    for dist in dists:
        wants, cuda, higher = _built_for(dist)
        have = series(torch.version)
        other = wants and have and (older(have, wants) if higher else wants != have)
        other_cuda = cuda and torch.cuda and cuda != torch.cuda.split(".")[0]
        if other or other_cuda:
            yield finding(
                problem,
                f"{dist.name} {dist.version} is built for another torch than {torch.version}",
                dist.location,
                also=(Evidence(text=f"torch {torch.version}", where=torch.source),),
                package=dist.name,
                package_version=dist.version,
            )


def flash_mismatch(facts: Facts) -> Iterator[Finding]:
    yield from _wheel_mismatch(facts, "flash-wheel-torch-mismatch", _FLASH)


def sage_mismatch(facts: Facts) -> Iterator[Finding]:
    yield from _wheel_mismatch(facts, "sage-wheel-torch-mismatch", _SAGE)


def sage_kernels(facts: Facts) -> Iterator[Finding]:
    sage = facts.distribution("sageattention")
    if sage is None:
        msg = "sageattention is not installed"
        raise NotApplicable(msg)
    # version 1 is pure Triton; from 2 on compiled kernels belong to it
    if not older(sage.version, "2") and not _modules(facts, "sageattention"):
        yield finding(
            "sage-kernels-not-loaded",
            f"sageattention {sage.version} is installed without its compiled kernels",
            sage.location,
            package="sageattention",
            package_version=sage.version,
        )


def _modules(facts: Facts, package: str) -> list[ExtensionFile]:
    return [e for e in facts.extensions if e.package == package]


def xformers_mismatch(facts: Facts) -> Iterator[Finding]:
    xformers = facts.distribution("xformers")
    if xformers is None:
        msg = "xformers is not installed"
        raise NotApplicable(msg)
    torch = need_torch(facts)
    base = torch.version.partition("+")[0]
    for line in xformers.requires:
        pinned = re.match(r"torch\s*\(?==\s*([\d.]+)", line)
        if pinned and pinned[1] != base:
            yield finding(
                "xformers-torch-mismatch",
                f"xformers {xformers.version} is built for torch {pinned[1]}",
                xformers.location,
                also=(Evidence(text=f"torch {torch.version}", where=torch.source),),
                package="xformers",
                package_version=xformers.version,
            )


def benign_xformers(facts: Facts) -> Iterator[Finding]:
    xformers = facts.distribution("xformers")
    if xformers is None:
        msg = "xformers is not installed"
        raise NotApplicable(msg)
    if facts.triton is None:
        yield finding(
            "benign-triton-warning",
            "xformers says at start that no matching Triton is available, and goes on",
            xformers.location,
        )


def bnb_binaries(facts: Facts) -> Iterator[Finding]:
    fork = facts.distribution("bitsandbytes-windows")
    if fork is not None:
        yield finding(
            "bnb-without-windows-binaries",
            f"bitsandbytes-windows {fork.version} is an abandoned fork with a CUDA 11.6 library",
            fork.location,
            package="bitsandbytes-windows",
        )
    bnb = facts.distribution("bitsandbytes")
    if bnb is None:
        if fork is None:
            msg = "bitsandbytes is not installed"
            raise NotApplicable(msg)
        return
    if not _modules(facts, "bitsandbytes"):
        yield finding(
            "bnb-without-windows-binaries",
            f"bitsandbytes {bnb.version} holds no library for Windows",
            bnb.location,
            package="bitsandbytes",
            package_version=bnb.version,
        )


CHECKS = (
    Check(
        id="vcredist-missing",
        title="the Visual C++ runtime is there",
        run=vcredist_missing,
    ),
    Check(
        id="vcredist-too-old-beside-python",
        title="the Visual C++ runtime that Python loads is new enough",
        run=vcredist_too_old,
    ),
    Check(
        id="flash-wheel-torch-mismatch",
        title="flash-attn is built for this torch",
        run=flash_mismatch,
        windows_only=False,
    ),
    Check(
        id="flash-wheel-needs-cuda-dlls",
        title="flash-attn finds the CUDA libraries that it needs",
        run=flash_needs_cuda_dlls,
    ),
    Check(
        id="sage-wheel-torch-mismatch",
        title="sageattention is built for this torch",
        run=sage_mismatch,
        windows_only=False,
    ),
    Check(
        id="sage-kernels-not-loaded",
        title="sageattention has its compiled kernels",
        run=sage_kernels,
    ),
    Check(
        id="xformers-torch-mismatch",
        title="xformers is built for this torch",
        run=xformers_mismatch,
        windows_only=False,
    ),
    Check(
        id="benign-triton-warning",
        title="xformers finds a Triton",
        run=benign_xformers,
        windows_only=False,
    ),
    Check(
        id="bnb-without-windows-binaries",
        title="bitsandbytes has a library for Windows",
        run=bnb_binaries,
    ),
)

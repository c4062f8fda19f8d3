"""The Visual C++ runtime that Python would load."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tritonwin.facts.model import Facts, RuntimeDll
from tritonwin.problems.check import Check, NotApplicable, finding
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support.versions import older

# Code compiled by toolset 14.40 or later initialises std::mutex at compile time; an older
# msvcp140.dll then locks a null pointer (release notes of Visual Studio 2022 17.10). The functions
# themselves are all there: those that libtriton imports are exported by 14.29 already.
MUTEX_BREAK = "14.40"


def _loaded(facts: Facts, name: str) -> RuntimeDll | None:
    return next((d for d in facts.runtime_dlls if d.name == name and d.loaded), None)


def _needs_msvcp(facts: Facts) -> bool:
    imports = facts.triton.libtriton_imports if facts.triton else ()
    return facts.triton is None or any(i.lower() == "msvcp140.dll" for i in imports)


def vcredist_missing(facts: Facts) -> Iterator[Finding]:
    if not facts.runtime_dlls:
        raise NotApplicable("the places of the VC runtime were not read")
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


def vcredist_too_old(facts: Facts) -> Iterator[Finding]:
    dll = _loaded(facts, "msvcp140.dll")
    if dll is None or dll.version is None or not _needs_msvcp(facts):
        raise NotApplicable("no msvcp140.dll of known version is loaded")
    linker = facts.triton.libtriton_linker if facts.triton else None
    broken = older(dll.version, MUTEX_BREAK) and not older(linker, MUTEX_BREAK)
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
    compiled = f"libtriton was linked by tools of {linker or MUTEX_BREAK + ' or later'}"
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
)

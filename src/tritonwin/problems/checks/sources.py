"""Triton's own sources: are they for Windows, whole, and free of the known defects?

Traits are structural marks (facts/triton_sources.py); the version string decides nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.model import Facts, Triton
from tritonwin.facts.triton_sources import Trait, triton_traits
from tritonwin.problems.check import (
    Check,
    NotApplicable,
    finding,
    need_triton,
    nvidia_capability,
)
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support.versions import older

PATCHED = "patched-by-tritonwin"
WINDOWS = "windows-branches"


def _blocking(triton: Triton) -> tuple[Trait, ...]:
    """The marks with which no kernel compiles or launches on Windows."""
    return tuple(t for t in triton_traits() if t.blocks and t.id in triton.traits)


def _place(triton: Triton, trait: Trait) -> Evidence:
    return Evidence(
        text=trait.meaning, where=f"{triton.location}: {triton.trait_places.get(trait.id, '?')}"
    )


def _windows_binary(facts: Facts) -> Triton:
    triton = need_triton(facts)
    if not (triton.libtriton or "").lower().endswith(".pyd"):
        raise NotApplicable("there is no Windows binary of Triton")
    return triton


def not_for_windows(facts: Facts) -> Iterator[Finding]:
    triton = _windows_binary(facts)
    marks = _blocking(triton)
    if marks and not {WINDOWS, PATCHED} & set(triton.traits):
        yield Finding(
            id="triton-sources-not-for-windows",
            evidence=tuple(_place(triton, mark) for mark in marks),
        )


def patch_incomplete(facts: Facts) -> Iterator[Finding]:
    triton = _windows_binary(facts)
    marks = _blocking(triton)
    if marks and {WINDOWS, PATCHED} & set(triton.traits):
        yield Finding(
            id="triton-patch-incomplete",
            evidence=(
                Evidence(
                    text="some sources are made for Windows, these are not", where=triton.location
                ),
                *(_place(triton, mark) for mark in marks),
            ),
        )


def patch_overwritten(facts: Facts) -> Iterator[Finding]:
    triton = _windows_binary(facts)
    record = facts.patch
    if record is None:
        raise NotApplicable("tritonwin has patched nothing here")
    if record.original and triton.import_hook is None:
        yield Finding(
            id="triton-patch-overwritten",
            evidence=tuple(
                Evidence(
                    text="tritonwin patched this file, and its own content is back", where=name
                )
                for name in (f"{triton.location}: {file}" for file in record.original)
            ),
        )


def altered(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    owner = facts.distribution(triton.distribution or "")
    if owner and owner.altered_files and PATCHED not in triton.traits:
        yield finding(
            "foreign-or-patched-triton-build",
            f"{owner.altered_files[0]} is not the file that {owner.name} {owner.version} installed",
            owner.location,
            certainty="likely",
            severity="warning",
            distribution=owner.name,
        )
    elif triton.flavour == "fork" and triton.distribution is None:
        yield finding(
            "foreign-or-patched-triton-build",
            "the package folder belongs to no installed distribution",
            triton.location,
            certainty="likely",
            severity="warning",
        )


def launcher_stale_error(facts: Facts) -> Iterator[Finding]:
    triton = _windows_binary(facts)
    mark = next(t for t in triton_traits() if t.id == "stale-last-error-launch")
    if mark.id in triton.traits:
        yield finding(
            "fork-launcher-stale-error",
            mark.meaning,
            _place(triton, mark).where,
            certainty="possible",
            severity="info",
        )


def ptxas_variable(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    variable = facts.variable("TRITON_PTXAS_PATH")
    if variable is None:
        raise NotApplicable("TRITON_PTXAS_PATH is not set")
    if "ptxas-env-key" in triton.traits:
        yield finding(
            "ptxas-path-variable-ignored",
            f"TRITON_PTXAS_PATH is {variable.value}; this Triton reads TRITON_PTXAS.EXE_PATH",
            "variable TRITON_PTXAS_PATH",
            variable=variable.name,
            value=variable.value,
        )


def c_long(facts: Facts) -> Iterator[Finding]:
    triton = _windows_binary(facts)
    if "long-as-32-bit" in triton.traits:
        yield finding(
            "c-long-32bit",
            "64-bit arguments pass through C's long, which has 32 bits on Windows",
            triton.location,
            certainty="likely",
            severity="warning",
        )


def ptxas_missing(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    elsewhere = any(t.ptxas for t in facts.cuda_toolkits)
    if triton.ptxas is None and not elsewhere:
        yield finding(
            "ptxas-not-found",
            "no ptxas lies in Triton's package, and no CUDA toolkit was found",
            triton.location,
        )
        return
    try:
        blackwell = not older(nvidia_capability(facts), "10.0")
    except NotApplicable:
        return
    if blackwell and "ptxas-blackwell" in triton.traits and triton.ptxas_blackwell is None:
        yield finding(
            "ptxas-not-found",
            "for this GPU these sources start ptxas-blackwell.exe, which is not there",
            triton.location,
        )


CHECKS = (
    Check(
        id="triton-sources-not-for-windows",
        title="Triton's sources are made for Windows",
        run=not_for_windows,
    ),
    Check(
        id="triton-patch-incomplete",
        title="Triton's sources fit together",
        run=patch_incomplete,
    ),
    Check(
        id="triton-patch-overwritten",
        title="the Windows patch of Triton is still there",
        run=patch_overwritten,
    ),
    Check(
        id="foreign-or-patched-triton-build",
        title="Triton's sources are as they were installed",
        run=altered,
    ),
    Check(
        id="fork-launcher-stale-error",
        title="Triton's launcher looks at the right error",
        run=launcher_stale_error,
    ),
    Check(id="c-long-32bit", title="launch arguments keep 64 bits", run=c_long),
    Check(id="ptxas-not-found", title="ptxas is there", run=ptxas_missing, windows_only=False),
    Check(
        id="ptxas-path-variable-ignored",
        title="the variable that names ptxas is one that Triton reads",
        run=ptxas_variable,
    ),
)

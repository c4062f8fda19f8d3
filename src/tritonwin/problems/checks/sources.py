"""Triton's own sources: are they for Windows, whole, and free of the known defects?

Traits are structural marks (facts/triton_sources.py); the version string decides nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.model import Facts, Triton
from tritonwin.problems.check import (
    Check,
    NotApplicable,
    finding,
    need_triton,
    nvidia_capability,
)
from tritonwin.problems.model import Finding
from tritonwin.support.matrix import older

# Marks of sources that can only work on Linux, with the words for a person.
LINUX_TRAITS = {
    "ldconfig": "the driver is searched with /sbin/ldconfig",
    "libcuda-so": "libcuda.so.1 is linked or loaded by name",
    "dlfcn": "C sources include dlfcn.h",
    "posix-memalign": "C sources call posix_memalign",
    "no-python-lib": "helper modules are linked without Python's import library",
    "temp-removed-open": "temporary files are removed while open",
    "so-extension": "helper modules are named .so",
}
PATCHED = "patched-by-tritonwin"
FORK = "windows-branches"


def _linuxisms(triton: Triton) -> list[str]:
    return [t for t in triton.traits if t in LINUX_TRAITS]


def _windows_binary(facts: Facts) -> Triton:
    triton = need_triton(facts)
    if not (triton.libtriton or "").lower().endswith(".pyd"):
        msg = "there is no Windows binary of Triton"
        raise NotApplicable(msg)
    return triton


def not_for_windows(facts: Facts) -> Iterator[Finding]:
    triton = _windows_binary(facts)
    marks = _linuxisms(triton)
    if marks and FORK not in triton.traits and PATCHED not in triton.traits:
        yield finding(
            "triton-sources-not-for-windows",
            f"{LINUX_TRAITS[marks[0]]} ({len(marks)} such marks in all: {', '.join(marks)})",
            triton.location,
            triton_version=triton.version,
        )


def patch_incomplete(facts: Facts) -> Iterator[Finding]:
    triton = _windows_binary(facts)
    marks = _linuxisms(triton)
    ready = [t for t in (FORK, PATCHED) if t in triton.traits]
    if marks and ready:
        yield finding(
            "triton-patch-incomplete",
            f"some sources are made for Windows, others are not: {LINUX_TRAITS[marks[0]]}",
            triton.location,
            triton_version=triton.version,
        )


def altered(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    owner = next((d for d in facts.distributions if d.altered_files), None)
    if owner is not None and PATCHED not in triton.traits:
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
    if "stale-last-error" in triton.traits:
        yield finding(
            "fork-launcher-stale-error",
            f"the launcher of Triton {triton.version} takes an old error number for a failure",
            triton.location,
            certainty="possible",
            severity="info",
            triton_version=triton.version,
        )


def ptxas_variable(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    variable = facts.variable("TRITON_PTXAS_PATH")
    if variable is None:
        msg = "TRITON_PTXAS_PATH is not set"
        raise NotApplicable(msg)
    if "ptxas-env-key" in triton.traits:
        yield finding(
            "ptxas-path-variable-ignored",
            f"TRITON_PTXAS_PATH is {variable.value}; this Triton reads TRITON_PTXAS.EXE_PATH",
            "variable TRITON_PTXAS_PATH",
            variable=variable.name,
            value=variable.value,
            triton_version=triton.version,
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
            triton_version=triton.version,
        )


def ptxas_missing(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    elsewhere = any(t.ptxas for t in facts.cuda_toolkits)
    if triton.ptxas is None and not elsewhere:
        yield finding(
            "ptxas-not-found",
            "no ptxas lies in Triton's package, and no CUDA toolkit was found",
            triton.location,
            triton_version=triton.version,
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
            triton_version=triton.version,
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

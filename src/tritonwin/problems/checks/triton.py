"""The package triton: there, alone, complete, and with sources that work on Windows.

A defect is named by the rule of `patch` that removes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from tritonwin.facts.distributions import holds, read_requirement
from tritonwin.facts.packages import knowledge
from tritonwin.facts.records import Distribution, Facts, Triton
from tritonwin.problems.check import (
    Seen,
    check,
    need,
    need_target,
    need_triton,
    seen,
)
from tritonwin.problems.records import Evidence
from tritonwin.support.packages import FORK
from tritonwin.support.versions import fits

if TYPE_CHECKING:
    from tritonwin.patch.engine import Rule

_BUNDLED = ("triton/runtime/tcc/", "triton/backends/nvidia/bin/")


@check("script-shadows-triton")
def shadowed(facts: Facts) -> Iterator[Seen]:
    for shadow in facts.shadows:
        yield seen(
            f"Python started here imports {shadow.path} instead of the package {shadow.module}",
            shadow.reason,
            path=shadow.path,
        )


@check("triton-missing")
def triton_missing(facts: Facts) -> Iterator[Seen]:
    target = need_target(facts)
    if _emptied(facts):
        return  # pip takes what it recorded for installed: see triton-files-missing
    elsewhere = facts.system.machine.upper() == "ARM64" or any(
        gpu.vendor == "intel" for gpu in facts.gpus
    )
    computes = not facts.windows or not elsewhere or facts.nvidia_gpus or facts.amd_gpus
    need(computes, "no GPU is here that triton-windows computes on")
    if facts.triton is None:
        text = "no package folder named triton is on this Python's path"
        where = target.site_packages[0] if target.site_packages else target.executable
    elif facts.triton.namespace:
        text = "the folder triton is what an uninstall left: it holds no __init__.py"
        where = facts.triton.location
    else:
        return
    yield seen(text, where)


@check("triton-and-fork-both-installed")
def both_installed(facts: Facts) -> Iterator[Seen]:
    fork = facts.distribution(FORK)
    others = [d for n in knowledge().other_tritons if (d := facts.distribution(n)) is not None]
    if fork is None or not others:
        return
    where = f"{facts.triton.flavour} sources" if facts.triton else "no usable sources"
    yield seen(
        f"{others[0].name} {others[0].version} and {fork.name} {fork.version} share the folder "
        f"triton; on disk are {where}",
        others[0].location,
        also=(Evidence(text=f"{fork.name} {fork.version}", where=fork.location),),
        distribution=others[0].name,
    )


@check("upstream-triton-no-windows-wheel")
def linux_wheel(facts: Facts) -> Iterator[Seen]:
    if facts.triton and (facts.triton.libtriton or "").endswith(".so"):
        yield seen(
            "the compiled part of this Triton is a Linux library",
            facts.triton.libtriton or "",
            path=facts.triton.location,
        )


def _emptied(facts: Facts) -> Distribution | None:
    """The distribution that recorded a package folder which is gone or hollow now."""
    if facts.triton is not None and not facts.triton.namespace:
        return None
    return next(
        (
            d
            for d in facts.distributions
            if d.name in knowledge().triton and "triton/__init__.py" in d.missing_files
        ),
        None,
    )


@check("triton-files-missing")
def files_missing(facts: Facts) -> Iterator[Seen]:
    emptied = _emptied(facts)
    triton = facts.triton if emptied else need_triton(facts)
    owner = emptied or facts.distribution((triton and triton.distribution) or "")
    # what is bundled has problems of its own: ptxas-not-found, cc-and-toolchain-absent
    gone = [f for f in owner.missing_files if not f.startswith(_BUNDLED)] if owner else []
    if owner is not None and (gone or owner.cut_files):
        what = f"{gone[0]}, which is gone" if gone else f"{owner.cut_files[0]}, which is cut short"
        yield seen(
            f"{owner.name} {owner.version} recorded {what}", owner.location, distribution=owner.name
        )
    elif triton is not None and triton.libtriton is None:
        yield seen(
            "there is no _C/libtriton in the package folder",
            triton.location,
            distribution=triton.distribution,
        )


@check("distribution-name-or-url")
def distribution_name(facts: Facts) -> Iterator[Seen]:
    names = {d.name for d in facts.distributions}
    have_fork = FORK in names
    have_upstream = any(n in names for n in knowledge().other_tritons)
    windows = {"platform_system": "Windows", "sys_platform": "win32", "os_name": "nt"}
    for owner in facts.distributions:
        for requirement in filter(None, map(read_requirement, owner.requires)):
            name = canonicalize_name(requirement.name)
            satisfied = have_fork if name == FORK else have_upstream
            wanted = name in {"triton", FORK} and holds(requirement, windows)
            if wanted and not satisfied and (have_fork or have_upstream):
                yield seen(
                    f"{owner.name} {owner.version} requires {requirement}, installed is "
                    f"{FORK if have_fork else 'triton'}",
                    owner,
                )


def _blocking(triton: Triton) -> tuple[Rule, ...]:
    """The defects with which no kernel compiles or launches on Windows.

    Those of triton-windows have checks of their own, and so has a missing ptxas-blackwell.
    """
    if not triton.defects:
        return ()
    from tritonwin.patch.rules import BY_ID  # read only where there is something to name

    rules = (BY_ID[name] for name in triton.defects if name in BY_ID)
    needed = (rule for rule in rules if rule.need == "jit" and rule.upstream)
    return tuple(r for r in needed if r.backend != "amd" and r.id != "ptxas-blackwell")


def _mark(triton: Triton, rule: Rule) -> Seen:
    """The first sentence of the rule's reason."""
    return seen(rule.why.strip().partition(". ")[0].rstrip("."), f"{triton.location}: {rule.file}")


def _windows_binary(facts: Facts) -> Triton:
    triton = need_triton(facts)
    binary = (triton.libtriton or "").lower().endswith(".pyd")
    need(binary, "there is no Windows binary of Triton")
    return triton


@check("triton-sources-not-for-windows")
def not_for_windows(facts: Facts) -> Iterator[Seen]:
    triton = _windows_binary(facts)
    if not (triton.for_windows or triton.patched):
        yield from (_mark(triton, rule) for rule in _blocking(triton))


@check("triton-patch-incomplete")
def patch_incomplete(facts: Facts) -> Iterator[Seen]:
    triton = _windows_binary(facts)
    rules = _blocking(triton)
    if rules and (triton.for_windows or triton.patched):
        yield seen("some sources are made for Windows, these are not", triton.location)
        yield from (_mark(triton, rule) for rule in rules)


@check("triton-patch-overwritten")
def patch_overwritten(facts: Facts) -> Iterator[Seen]:
    triton = _windows_binary(facts)
    record = need(facts.patch, "tritonwin has patched nothing here")
    if triton.import_hook is None:
        for file in record.original:
            yield seen(
                "tritonwin patched this file, and its own content is back",
                f"{triton.location}: {file}",
            )


@check("foreign-or-patched-triton-build")
def altered(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    owner = facts.distribution(triton.distribution or "")
    if owner and owner.altered_files and not triton.patched:
        yield seen(
            f"{owner.altered_files[0]} is not the file that {owner.name} {owner.version} installed",
            owner.location,
            distribution=owner.name,
        )
    elif triton.flavour == "fork" and triton.distribution is None:
        yield seen("the package folder belongs to no installed distribution", triton.location)


@check("fork-launcher-stale-error")
def launcher_stale_error(facts: Facts) -> Iterator[Seen]:
    triton = _windows_binary(facts)
    # in 3.1 to 3.3 it is asked when the driver is loaded, and Python may be used
    if "last-error-launcher" in triton.defects and fits(triton.version or "", ">=3.4"):
        yield seen(
            "every launch passes the test of an old error, without the interpreter lock: it may "
            "crash",
            f"{triton.location}: backends/nvidia/driver.py",
        )


@check("ptxas-path-variable-ignored")
def ptxas_variable(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    variable = need(facts.variable("TRITON_PTXAS_PATH"), "TRITON_PTXAS_PATH is not set")
    if {"tool-variables", "tool-variables-3.3"}.intersection(triton.defects):
        yield seen(
            f"TRITON_PTXAS_PATH is {variable.value}; this Triton reads TRITON_PTXAS.EXE_PATH",
            variable,
        )


@check("c-long-32bit")
def c_long(facts: Facts) -> Iterator[Seen]:
    triton = _windows_binary(facts)
    if "int64-arguments" in triton.defects:
        yield seen(
            "64-bit arguments pass through C's long, which has 32 bits on Windows", triton.location
        )


@check("ptxas-not-found")
def ptxas_missing(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    elsewhere = any(t.ptxas for t in facts.cuda_toolkits)
    if triton.ptxas is None and not elsewhere:
        yield seen(
            "no ptxas lies in Triton's package, and no CUDA toolkit was found", triton.location
        )
        return
    blackwell = any(fits(g.compute_capability or "", ">=10.0") for g in facts.nvidia_gpus[:1])
    if blackwell and "ptxas-blackwell" in triton.defects and triton.ptxas_blackwell is None:
        yield seen(
            "for this GPU these sources start ptxas-blackwell.exe, which is not there",
            triton.location,
        )

"""The package triton: is it there, whole, alone, and the one that Python imports?"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tritonwin.facts.model import Distribution, Facts
from tritonwin.facts.packages import knowledge
from tritonwin.facts.requirement import holds, read_requirement
from tritonwin.problems.check import Check, finding, need_target, need_triton
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support.packages import FORK

_BUNDLED = ("triton/runtime/tcc/", "triton/backends/nvidia/bin/")


def shadowed(facts: Facts) -> Iterator[Finding]:
    for shadow in facts.shadows:
        yield finding(
            "script-shadows-triton",
            f"Python started here imports {shadow.path} instead of the package {shadow.module}",
            shadow.reason,
            path=shadow.path,
        )


def triton_missing(facts: Facts) -> Iterator[Finding]:
    target = need_target(facts)
    if _emptied(facts):
        return  # pip takes what it recorded for installed: see triton-files-missing
    if facts.triton is None:
        text = "no package folder named triton is on this Python's path"
        where = target.site_packages[0] if target.site_packages else target.executable
    elif facts.triton.namespace:
        text = "the folder triton is what an uninstall left: it holds no __init__.py"
        where = facts.triton.location
    else:
        return
    yield finding("triton-missing", text, where)


def both_installed(facts: Facts) -> Iterator[Finding]:
    fork = facts.distribution(FORK)
    others = [d for n in knowledge().other_tritons if (d := facts.distribution(n)) is not None]
    if fork is None or not others:
        return
    where = f"{facts.triton.flavour} sources" if facts.triton else "no usable sources"
    yield finding(
        "triton-and-fork-both-installed",
        f"{others[0].name} {others[0].version} and {fork.name} {fork.version} share the folder "
        f"triton; on disk are {where}",
        others[0].location,
        also=(Evidence(text=f"{fork.name} {fork.version}", where=fork.location),),
        distribution=others[0].name,
    )


def linux_wheel(facts: Facts) -> Iterator[Finding]:
    for line in facts.requirement_lines:
        yield finding(
            "upstream-triton-no-windows-wheel",
            f'line {line.line} asks for "{line.text}", which has no Windows wheel',
            line.path,
            certainty="likely",
            severity="info",
            path=line.path,
        )
    if facts.triton and (facts.triton.libtriton or "").endswith(".so"):
        yield finding(
            "upstream-triton-no-windows-wheel",
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


def files_missing(facts: Facts) -> Iterator[Finding]:
    emptied = _emptied(facts)
    triton = facts.triton if emptied else need_triton(facts)
    owner = emptied or facts.distribution((triton and triton.distribution) or "")
    # what is bundled has problems of its own: ptxas-not-found, cc-and-toolchain-absent
    gone = [f for f in owner.missing_files if not f.startswith(_BUNDLED)] if owner else []
    if owner is not None and (gone or owner.cut_files):
        what = f"{gone[0]}, which is gone" if gone else f"{owner.cut_files[0]}, which is cut short"
        yield finding(
            "triton-files-missing",
            f"{owner.name} {owner.version} recorded {what}",
            owner.location,
            distribution=owner.name,
        )
    elif triton is not None and triton.libtriton is None:
        yield finding(
            "triton-files-missing",
            "there is no _C/libtriton in the package folder",
            triton.location,
            distribution=triton.distribution,
        )


def distribution_name(facts: Facts) -> Iterator[Finding]:
    names = {d.name for d in facts.distributions}
    have_fork = FORK in names
    have_upstream = any(n in names for n in knowledge().other_tritons)
    for owner, requirement in _triton_requirements(facts):
        satisfied = have_fork if canonicalize_name(requirement.name) == FORK else have_upstream
        if not satisfied and (have_fork or have_upstream):
            yield finding(
                "distribution-name-or-url",
                f"{owner.name} {owner.version} requires {requirement}, installed is "
                f"{FORK if have_fork else 'triton'}",
                owner.location,
                certainty="likely",
                severity="info",
                package=owner.name,
            )


def _triton_requirements(facts: Facts) -> Iterator[tuple[Distribution, Requirement]]:
    windows = {"platform_system": "Windows", "sys_platform": "win32", "os_name": "nt"}
    for owner in facts.distributions:
        for text in owner.requires:
            requirement = read_requirement(text)
            if requirement is None:
                continue
            named = canonicalize_name(requirement.name) in {"triton", FORK}
            if named and holds(requirement, windows):
                yield owner, requirement


CHECKS = (
    Check(
        id="script-shadows-triton",
        title="no file or folder of yours hides the packages triton and torch",
        run=shadowed,
        windows_only=False,
    ),
    Check(
        id="triton-and-fork-both-installed",
        title="one distribution owns the package triton",
        run=both_installed,
    ),
    Check(
        id="upstream-triton-no-windows-wheel",
        title="nothing asks for the Triton that has no Windows wheel",
        run=linux_wheel,
    ),
    Check(id="triton-missing", title="Triton is installed", run=triton_missing, windows_only=False),
    Check(
        id="triton-files-missing",
        title="Triton's files are complete",
        run=files_missing,
        windows_only=False,
    ),
    Check(
        id="distribution-name-or-url",
        title="packages that require Triton find it under its name",
        run=distribution_name,
    ),
)

"""torch, Triton and what else is installed: presence, pairs, doubles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from tritonwin.facts.model import Distribution, Facts, Torch
from tritonwin.problems.check import (
    Check,
    NotApplicable,
    finding,
    need_target,
    need_torch,
    need_triton,
    python_series,
)
from tritonwin.problems.context import FORK, served_series, wanted_series
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support import matrix
from tritonwin.support.matrix import fits, older, series

# Distributions other than the fork whose files lie in the package folder `triton`.
OTHER_TRITONS = (
    "triton",
    "pytorch-triton",
    "triton-xpu",
    "pytorch-triton-xpu",
    "triton-rocm",
    "pytorch-triton-rocm",
)

_BUNDLED = ("triton/runtime/tcc/", "triton/backends/nvidia/bin/")


def triton_missing(facts: Facts) -> Iterator[Finding]:
    target = need_target(facts)
    if facts.triton is None:
        text = "no package folder named triton is on this Python's path"
        where = target.site_packages[0] if target.site_packages else target.executable
    elif facts.triton.namespace:
        text = "the folder triton is what an uninstall left: it holds no __init__.py"
        where = facts.triton.location
    else:
        return
    yield finding("triton-missing", text, where)


def _pairing(facts: Facts) -> tuple[Torch, str, str]:
    """torch, the series it wants and the series that is installed."""
    torch, triton = need_torch(facts), need_triton(facts)
    wanted = wanted_series(torch)
    have = series(triton.version) if triton.version else None
    if wanted is None or have is None:
        msg = "the pairing of this torch and Triton is not known"
        raise NotApplicable(msg)
    return torch, wanted, have


def _pair_evidence(torch: Torch, wanted: str) -> Evidence:
    return Evidence(
        text=f"torch {torch.version} wants Triton {torch.wants_triton or wanted}",
        where=torch.wants_triton_source or "table of pairs",
    )


def triton_too_old(facts: Facts) -> Iterator[Finding]:
    torch, wanted, have = _pairing(facts)
    triton = need_triton(facts)
    if have in served_series(torch, wanted) or Version(have) > Version(wanted):
        return
    turing = any(g.compute_capability == "7.5" for g in facts.gpus) and have == "3.2"
    yield finding(
        "triton-too-old",
        f"Triton {triton.version} is installed",
        triton.source,
        # Triton 3.2 is the last one for Turing cards; beside a newer torch it works in part
        severity="warning" if turing else None,
        certainty="likely" if turing else "certain",
        also=(_pair_evidence(torch, wanted),),
    )


def triton_too_new(facts: Facts) -> Iterator[Finding]:
    torch, wanted, have = _pairing(facts)
    triton = need_triton(facts)
    if have in served_series(torch, wanted) or Version(have) < Version(wanted):
        return
    if fits(torch.version, "<2.4"):
        return  # torch-too-old-for-triton says it better
    yield finding(
        "triton-too-new-for-torch",
        f"Triton {triton.version} is installed",
        triton.source,
        also=(_pair_evidence(torch, wanted),),
    )


def torch_too_old(facts: Facts) -> Iterator[Finding]:
    torch, triton = need_torch(facts), need_triton(facts)
    if fits(torch.version, "<2.4") and triton.version and fits(triton.version, ">=3.0"):
        yield finding(
            "torch-too-old-for-triton",
            f"torch {torch.version} is installed beside Triton {triton.version}; "
            "2.4 is the first torch that works with a triton-windows",
            torch.source,
        )


def no_triton_yet(facts: Facts) -> Iterator[Finding]:
    torch = need_torch(facts)
    wanted = wanted_series(torch)
    if wanted is None:
        msg = f"what torch {torch.version} wants is not known"
        raise NotApplicable(msg)
    newest = matrix.load().newest_release()
    have = series(facts.triton.version) if facts.triton and facts.triton.version else None
    if Version(wanted) > Version(newest.series) and have != wanted:
        yield finding(
            "no-triton-for-torch-yet",
            f"the newest triton-windows is {newest.newest} (state of {matrix.load().data_date})",
            "table of releases",
            also=(_pair_evidence(torch, wanted),),
        )


def both_installed(facts: Facts) -> Iterator[Finding]:
    fork = facts.distribution(FORK)
    others = [d for n in OTHER_TRITONS if (d := facts.distribution(n)) is not None]
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


def files_missing(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    owner = facts.distribution(triton.distribution or "")
    missing = owner.missing_files if owner else ()
    # what is bundled has problems of its own: ptxas-not-found, cc-and-toolchain-absent
    gone = [f for f in missing if not f.startswith(_BUNDLED)]
    if owner is not None and gone:
        yield finding(
            "triton-files-missing",
            f"{owner.name} {owner.version} recorded {gone[0]}, which is gone",
            owner.location,
            distribution=owner.name,
        )
    elif triton.libtriton is None:
        yield finding(
            "triton-files-missing",
            "there is no _C/libtriton in the package folder",
            triton.location,
            distribution=triton.distribution,
        )


def distribution_name(facts: Facts) -> Iterator[Finding]:
    names = {d.name for d in facts.distributions}
    have_fork = FORK in names
    have_upstream = any(n in names for n in OTHER_TRITONS)
    for owner, requirement in _triton_requirements(facts):
        satisfied = have_fork if requirement.name.replace("_", "-") == FORK else have_upstream
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
    windows = {"platform_system": "Windows", "sys_platform": "win32", "os_name": "nt", "extra": ""}
    for owner in facts.distributions:
        for text in owner.requires:
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            named = requirement.name.lower().replace("_", "-") in {"triton", FORK}
            if named and (requirement.marker is None or requirement.marker.evaluate(windows)):
                yield owner, requirement


def cpu_only_torch(facts: Facts) -> Iterator[Finding]:
    torch = need_torch(facts)
    if torch.cuda or torch.hip or torch.xpu:
        return
    gpu = next((g for g in facts.gpus if g.vendor == "nvidia"), None)
    if gpu is None:
        msg = "no NVIDIA GPU was seen"
        raise NotApplicable(msg)
    yield finding(
        "cpu-only-torch",
        f"torch {torch.version} is built without CUDA",
        torch.source,
        also=(Evidence(text=f"{gpu.name} is in this machine", where=gpu.source),),
    )


def replaced_torch(facts: Facts) -> Iterator[Finding]:
    found = [d for d in facts.distributions if d.name == "torch"]
    same_folder = [d for d in found if d.site_packages == found[0].site_packages]
    if len(same_folder) > 1:
        versions = " and ".join(d.version for d in same_folder)
        yield finding(
            "update-replaced-torch",
            f"the records of torch {versions} lie side by side: one was put over the other",
            same_folder[0].location,
            certainty="likely",
        )


def old_setuptools(facts: Facts) -> Iterator[Finding]:
    setuptools = facts.distribution("setuptools")
    if setuptools is None:
        msg = "setuptools is not installed"
        raise NotApplicable(msg)
    if fits(python_series(need_target(facts)), ">=3.12") and fits(setuptools.version, "<66.1"):
        yield finding(
            "old-setuptools",
            f"setuptools {setuptools.version} uses pkgutil.ImpImporter, which Python "
            f"{python_series(need_target(facts))} no longer has",
            setuptools.location,
            package_version=setuptools.version,
        )


def wheel_tags(facts: Facts) -> Iterator[Finding]:
    target = need_target(facts)
    if target.platform_tag is None:
        msg = "the interpreter's platform is not known"
        raise NotApplicable(msg)
    for dist in facts.distributions:
        if dist.tags and not any(_tag_fits(t, facts) for t in dist.tags):
            yield finding(
                "wheel-tag-unsupported",
                f"{dist.name} {dist.version} is made for {dist.tags[0]}, this is Python "
                f"{target.version} on {target.platform_tag}",
                dist.location,
                package=dist.name,
            )


def _tag_fits(tag: str, facts: Facts) -> bool:
    target = need_target(facts)
    python, abi, platform = tag.split("-", 2) if tag.count("-") >= 2 else ("", "", "")
    major, minor = (int(n) for n in python_series(target).split("."))
    found = re.fullmatch(r"(?:cp|py)(\d)(\d*)", python)
    if platform != "any" and not _platform_fits(platform, target.platform_tag or ""):
        return False
    if found is None:
        return True  # an unusual tag proves nothing
    tag_minor = int(found[2]) if found[2] else 0
    if abi in {"none", "abi3"}:
        return int(found[1]) == major and tag_minor <= minor
    threads = "t" if target.free_threaded else ""
    return abi == f"cp{major}{minor}{threads}" and python == f"cp{major}{minor}"


def _platform_fits(platform: str, target: str) -> bool:
    if target.startswith("win"):
        return platform == target
    return not platform.startswith(("win", "macosx"))


def shadowed(facts: Facts) -> Iterator[Finding]:
    for shadow in facts.shadows:
        yield finding(
            "script-shadows-triton",
            f"Python started here imports {shadow.path} instead of the package {shadow.module}",
            shadow.reason,
            path=shadow.path,
        )


def triton_ops(facts: Facts) -> Iterator[Finding]:
    bnb, triton = facts.distribution("bitsandbytes"), facts.triton
    if bnb is None or triton is None or triton.version is None:
        msg = "bitsandbytes and Triton are not both installed"
        raise NotApplicable(msg)
    # triton.ops went in 3.1; bitsandbytes does without it from 0.45 on
    if fits(triton.version, ">=3.1") and older(bnb.version, "0.45"):
        yield finding(
            "stale-package-needs-triton-ops",
            f"bitsandbytes {bnb.version} imports triton.ops, which Triton {triton.version} "
            "no longer has",
            bnb.location,
            package="bitsandbytes",
            package_version=bnb.version,
        )


CHECKS = (
    Check(
        id="script-shadows-triton",
        title="no file or folder of yours hides the packages triton and torch",
        run=shadowed,
        windows_only=False,
    ),
    Check(
        id="update-replaced-torch",
        title="one torch is recorded, and it is the one on disk",
        run=replaced_torch,
        windows_only=False,
    ),
    Check(
        id="cpu-only-torch",
        title="torch is built for the GPU",
        run=cpu_only_torch,
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
    Check(
        id="no-triton-for-torch-yet",
        title="a triton-windows exists for this torch",
        run=no_triton_yet,
    ),
    Check(id="triton-missing", title="Triton is installed", run=triton_missing, windows_only=False),
    Check(
        id="triton-files-missing",
        title="Triton's files are complete",
        run=files_missing,
        windows_only=False,
    ),
    Check(
        id="torch-too-old-for-triton",
        title="torch is new enough for Triton",
        run=torch_too_old,
        windows_only=False,
    ),
    Check(
        id="triton-too-old",
        title="Triton is new enough for torch",
        run=triton_too_old,
        windows_only=False,
    ),
    Check(
        id="triton-too-new-for-torch",
        title="Triton is not too new for torch",
        run=triton_too_new,
        windows_only=False,
    ),
    Check(
        id="wheel-tag-unsupported",
        title="installed wheels are made for this Python",
        run=wheel_tags,
        windows_only=False,
    ),
    Check(
        id="distribution-name-or-url",
        title="packages that require Triton find it under its name",
        run=distribution_name,
    ),
    Check(
        id="old-setuptools",
        title="setuptools works with this Python",
        run=old_setuptools,
        windows_only=False,
    ),
    Check(
        id="stale-package-needs-triton-ops",
        title="no package needs the removed triton.ops",
        run=triton_ops,
        windows_only=False,
    ),
)

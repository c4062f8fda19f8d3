"""Install, replace and remove distributions, all of a plan together.

What is to be installed is known to the file before anything is changed. pip lays it out aside
(`staging`); then the old distributions move into the journal and the new files into place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tritonwin.facts.packages import knowledge
from tritonwin.facts.records import Distribution, Facts, Interpreter
from tritonwin.journal import Journal
from tritonwin.problems.records import Action
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.installed import claimed, leave_to_conda, lock_note, of_the_base, removal
from tritonwin.remedies.plan import (
    CannotRemedyError,
    ChangedSincePlanError,
    FileSource,
    InstallWheels,
    RemoveDistribution,
    target_to_change,
)
from tritonwin.remedies.target_pip import staged_site_packages
from tritonwin.support import install_plan
from tritonwin.support.install_plan import InstallPlan
from tritonwin.support.packages import FORK
from tritonwin.support.versions import parse
from tritonwin.support.wheel_choice import Download
from tritonwin.system.files import names_in


class NothingFitsError(CannotRemedyError):
    """No wheel fits; `missing` are the normalised names of what has none."""

    def __init__(self, message: str, help_text: str, missing: tuple[str, ...]) -> None:
        super().__init__(message, help_text)
        self.missing = missing


def plan_install(actions: Sequence[Action], context: PlanContext) -> InstallWheels:
    """One change that installs everything asked for, with what that needs besides.

    Raises:
        NothingFitsError: nothing that fits was found; the message says why candidates were
            refused.
    """
    found: InstallPlan | None = None
    for requests in _attempts(actions, context.facts):
        found = install_plan.plan(
            context.facts,
            [install_plan.parse_request(text) for text in requests],
            context.sources(),
            context.pip(),
            reinstall=True,
        )
        if found.complete:
            return install_change(found.downloads, context.facts)
    raise _nothing_fits(found)


def _attempts(actions: Sequence[Action], facts: Facts) -> Iterator[list[str]]:
    """Requests, the least change first: the torch that is there, as a build for CUDA."""
    asked = list(dict.fromkeys(a.arguments["requirement"] for a in actions))
    torch = [text for text in asked if canonicalize_name(Requirement(text).name) == "torch"]
    if not torch:
        yield asked
        return
    # which Triton fits is known once torch is chosen
    others = [FORK if text.startswith(FORK) else text for text in asked if text not in torch]
    specifier = SpecifierSet(",".join(str(Requirement(text).specifier) for text in torch))
    have = parse(facts.torch.version) if facts.torch else None
    if have is not None and specifier.contains(have.public, prereleases=True):
        yield [f"torch=={have.public}", *others]
    yield [f"torch{specifier}", *others]


def _nothing_fits(found: InstallPlan | None) -> NothingFitsError:
    missing = [c for c in found.choices if not c.file] if found else []
    reasons = ["; ".join((c.request, *c.in_short(), *c.notes)) for c in missing]
    packages = " ".join(choice.package for choice in missing)
    return NothingFitsError(
        f"no wheel fits: {' | '.join(reasons)}",
        f"See every candidate: tritonwin install {packages}",
        tuple(choice.package for choice in missing),
    )


def install_change(downloads: Sequence[Download], facts: Facts) -> InstallWheels:
    """The change that installs these wheels in the place of what the target has of that name.

    Raises:
        CannotRemedyError: what is to be replaced is conda's, or its RECORD leads elsewhere.
    """
    target = target_to_change(facts)
    wheels = tuple(
        FileSource(
            name=d.name, version=d.version, location=d.location, sha256=d.sha256, size=d.size
        )
        for d in downloads
    )
    replaced = [_in_its_place(facts, wheel.name) for wheel in wheels]
    removes = removable([d for old in replaced for d in old], target)
    names = ", ".join(
        f"{wheel.name} {wheel.version}" + _instead(old, wheel)
        for wheel, old in zip(wheels, replaced, strict=True)
    )
    return InstallWheels(
        what=f"install {names}",
        sources=wheels,
        removes=removes,
        admin=target.writable is False,
        note=lock_note(target, (f"{w.name}=={w.version}" for w in wheels)),
    )


def plan_remove(context: PlanContext, *, distribution: str) -> RemoveDistribution:
    name = canonicalize_name(distribution)
    found = _installed(context.facts, name)
    if not found:
        raise CannotRemedyError(f"{name} is not installed")
    return RemoveDistribution(
        distribution=name,
        what=f"remove {name} {found[0].version}",
        removes=removable(found, context.target),
        admin=context.target.writable is False,
    )


def removable(found: Sequence[Distribution], target: Interpreter) -> tuple[str, ...]:
    """The metadata folders of distributions that tritonwin may take away.

    Raises:
        CannotRemedyError: one is conda's, or its RECORD leads elsewhere.
    """
    leave_to_conda(found, target)
    for each in found:
        removal(Path(each.location), _environment(Path(each.location), target))
    return tuple(each.location for each in found)


def _installed(facts: Facts, *names: str) -> list[Distribution]:
    return [
        d
        for d in facts.distributions
        if d.name in names and not (facts.target and of_the_base(d, facts.target))
    ]


def _in_its_place(facts: Facts, name: str) -> list[Distribution]:
    """The distributions that it replaces: other versions, and others that share its folder."""
    rivals = knowledge().triton if name in knowledge().triton else (name,)
    return _installed(facts, *rivals)


def _instead(old: Sequence[Distribution], new: FileSource) -> str:
    gone = dict.fromkeys(d.version if d.name == new.name else f"{d.name} {d.version}" for d in old)
    if not gone:
        return ""
    return " again" if list(gone) == [new.version] else f" instead of {', '.join(gone)}"


def apply_remove(change: RemoveDistribution, context: ApplyContext) -> None:
    for info in change.removes:
        _remove(Path(info), context)


def apply_install(change: InstallWheels, context: ApplyContext) -> None:
    if context.staged is None:
        raise CannotRemedyError("nothing was staged")
    put_in_place(context.staged, change.removes, context)


def put_in_place(root: Path, removes: Sequence[str], context: ApplyContext) -> None:
    """Take distributions away, named by their metadata, and move in what pip laid out."""
    for info in removes:
        _remove(Path(info), context)
    prefix = Path(context.target.prefix or Path(context.target.executable).parent)
    for folder in staged_site_packages(root):
        for name in names_in(folder):
            _clear_leftover(prefix / folder.relative_to(root), name, context.journal)
    for entry in names_in(root):
        context.journal.place(root / entry, prefix / entry)


def _remove(info: Path, context: ApplyContext) -> None:
    if not os.path.lexists(info):
        raise ChangedSincePlanError(f"{info} is not there any more")
    paths = removal(info, _environment(info, context.target))
    for path in paths:
        context.journal.delete(path)
    for folder in _emptied(paths, info.parent):
        context.journal.remove_folder(folder)


def _environment(info: Path, target: Interpreter) -> Path:
    """The folder that all files of a distribution lie in."""
    prefix = Path(target.prefix or info.parent)
    return prefix if info.is_relative_to(prefix) else info.parent


def _emptied(paths: Sequence[Path], site_packages: Path) -> Iterator[Path]:
    """Folders below site-packages that hold nothing now, the innermost first."""
    above = {p for path in paths for p in path.parents if site_packages in p.parents}
    for folder in sorted(above, key=lambda p: len(p.parts), reverse=True):
        if folder.is_dir() and not names_in(folder):
            yield folder


def _clear_leftover(site_packages: Path, name: str, journal: Journal) -> None:
    """Take away what lies where a package is to be put and belongs to no distribution.

    A package is not mixed with an older one's files: Python would import both.
    """
    there = site_packages / name
    leftover = there.is_dir() and not claimed(site_packages, name)
    if leftover and not name.endswith(".dist-info"):
        journal.delete(there)

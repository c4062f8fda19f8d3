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
from tritonwin.problems.records import Action
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.installed import (
    Removal,
    in_the_way,
    leave_to_conda,
    of_the_base,
    removal,
)
from tritonwin.remedies.plan import (
    BuildWheel,
    CannotRemedyError,
    ChangedSincePlanError,
    InstallWheels,
    target_to_change,
)
from tritonwin.support import install_plan
from tritonwin.support.chooser import InstallPlan
from tritonwin.support.packages import FORK
from tritonwin.support.versions import parse
from tritonwin.support.wheel_choice import FileSource
from tritonwin.support.wheels import read_local
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
        if not found.missing:
            return install_change(found.downloads, context.facts)
    missing = found.missing if found else ()
    reasons = ["; ".join((c.request, *c.in_short(), *c.notes)) for c in missing]
    names = tuple(choice.package for choice in missing)
    raise NothingFitsError(
        f"no wheel fits: {' | '.join(reasons)}",
        f"See every candidate: tritonwin install {' '.join(names)}",
        names,
    )


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
    # on Linux another torch brings its own Triton along
    yield [f"torch{specifier}", *(text for text in others if Requirement(text).name != "triton")]


def install_change(wheels: tuple[FileSource, ...], facts: Facts) -> InstallWheels:
    """The change that installs these wheels in the place of what the target has of that name.

    Raises:
        CannotRemedyError: what is to be replaced is conda's, or its RECORD leads elsewhere.
    """
    target = target_to_change(facts)
    # other versions, and others that share its folder
    tritons = knowledge().triton
    in_place = [
        _installed(facts, *(tritons if wheel.name in tritons else (wheel.name,)))
        for wheel in wheels
    ]
    old = [distribution for each in in_place for distribution in each]
    going = removable(old, target)
    names = ", ".join(
        f"{wheel.name} {wheel.version}" + _instead(old, wheel)
        for wheel, old in zip(wheels, in_place, strict=True)
    )
    new = next((parse(wheel.version) for wheel in wheels if wheel.name == "torch"), None)
    return InstallWheels(
        what=f"install {names}",
        sources=wheels,
        removes=tuple(each.location for each in old),
        stays=tuple(map(str, going.stays)),
        admin=target.writable is False,
        cuda=read_local(new.local).cuda if new else facts.torch.cuda if facts.torch else None,
        gpus=tuple(g.compute_capability for g in facts.nvidia_gpus if g.compute_capability),
    )


def removable(found: Sequence[Distribution], target: Interpreter) -> Removal:
    """The part of the target that goes with distributions, which tritonwin may take away.

    Raises:
        CannotRemedyError: one is conda's, or its RECORD leads elsewhere.
    """
    leave_to_conda(found, target)
    return removal([each.location for each in found], target)


def _installed(facts: Facts, *names: str) -> list[Distribution]:
    return [
        d
        for d in facts.distributions
        if d.name in names and not (facts.target and of_the_base(d, facts.target))
    ]


def _instead(old: Sequence[Distribution], new: FileSource) -> str:
    gone = dict.fromkeys(d.version if d.name == new.name else f"{d.name} {d.version}" for d in old)
    if not gone:
        return ""
    return " again" if list(gone) == [new.version] else f" instead of {', '.join(gone)}"


def put_in_place(change: InstallWheels | BuildWheel, context: ApplyContext) -> None:
    """Take away what the change replaces, and move in what pip laid out in `context.staged`.

    Raises:
        ChangedSincePlanError, CannotRemedyError: what is to go is gone, or a file of others would
            be replaced; nothing was changed.
    """
    root = context.staged
    if root is None:
        raise CannotRemedyError("nothing was staged")
    prefix = Path(context.target.prefix or Path(context.target.executable).parent)
    # site-packages, one a scheme
    folders = {prefix / info.parent.relative_to(root) for info in root.rglob("*.dist-info")}
    going = removal(change.removes, context.target)
    gone = next((info for info in change.removes if not os.path.lexists(info)), None)
    if gone is not None:
        raise ChangedSincePlanError(f"{gone} is not there any more")
    aside = in_the_way(root, sorted(folders), prefix, going)
    for path in going.paths:
        context.journal.delete(path)
    sites = {Path(info).parent for info in change.removes}
    above = {p for path in going.paths for p in path.parents if not sites.isdisjoint(p.parents)}
    for folder in sorted(above, key=lambda p: len(p.parts), reverse=True):
        if folder.is_dir() and not names_in(folder):
            context.journal.delete(folder)
    for path in aside:
        context.say(f"moving {path} aside: it belongs to no package")
        context.journal.delete(path)
    for entry in names_in(root):
        context.journal.place(root / entry, prefix / entry)

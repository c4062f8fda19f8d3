"""From requests to exact files: choose each wheel, then let pip add missing dependencies."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.facts.amd import Chip
from tritonwin.facts.distributions import read_requirement
from tritonwin.facts.records import Facts, Interpreter
from tritonwin.journal.tree import file_hash
from tritonwin.support import addresses, matrix, packages
from tritonwin.support.addresses import is_url
from tritonwin.support.chooser import InstallPlan, SetChooser
from tritonwin.support.fitting import Needs, for_chip, needs_of
from tritonwin.support.links import WheelLink
from tritonwin.support.lists import public_lists, token_of
from tritonwin.support.packages import FORK
from tritonwin.support.pip import (
    CONSTRAINT,
    Pip,
    PipError,
    by_address,
    configured_places,
    dry_run,
)
from tritonwin.support.sources import Sources
from tritonwin.support.wheel_choice import FileSource
from tritonwin.support.wheel_files import content_of, obtain
from tritonwin.support.wheels import WheelNameError, read
from tritonwin.system.files import is_folder
from tritonwin.system.host import Host, data_folder
from tritonwin.system.shells import word


def sources_for(
    facts: Facts,
    pip: Callable[[], Pip],
    *,
    lists: Iterable[str] = (),
    indexes: Iterable[str] = (),
    public: bool = False,
    offline: bool = False,
) -> Sources:
    """The places of wheels: those that the user named, those of the target's pip, public lists.

    Args:
        pip: returns the pip that runs in the target; called only if its configuration counts.
        indexes: package indexes in the place of those that pip is configured for.
        public: ask the public lists as well.

    Raises:
        UserError: the table that TRITONWIN_LISTS names cannot be read.
    """
    env = Host.this_machine().env
    found = Sources(
        lists=tuple(lists),
        indexes=tuple(indexes),
        public=public_lists(env) if public else None,
        offline=offline,
        folder=data_folder(env) / "lists",
        token=token_of(env),
    )
    if offline:
        return found
    if not found.indexes:
        of_pip = configured_places(pip())
        found = replace(found, lists=(*found.lists, *of_pip.lists), indexes=of_pip.indexes)
    mirror = found.public.torch if found.public else None
    return replace(found, torch_indexes=torch_indexes(needs_of(facts), mirror))


def torch_indexes(needs: Needs, mirror: str | None = None) -> tuple[str, ...]:
    """The indexes of torch for a target, the preferred one first; none has wheels for ARM64."""
    if needs.machine == "ARM64":
        return ()
    table = matrix.load()
    if needs.chip:
        return (table.amd.address, f"{table.amd.families}/{needs.chip.family}")
    place = (mirror or table.torch_index).rstrip("/")
    if needs.backend == "xpu":
        return (f"{place}/xpu",)
    return tuple(f"{place}/{tag}" for tag in needs.torch_tags)


def plan(
    facts: Facts,
    requests: Sequence[Requirement],
    sources: Sources,
    pip: Pip,
    *,
    allow_unhashed: bool = False,
    reinstall: bool = False,
) -> InstallPlan:
    """Choose a wheel for every request, and find the missing dependencies. Nothing changes.

    A torch that is needed and not installed is added.

    Args:
        requests: from `parse_request`.
        pip: runs in the target.
        reinstall: take also what is installed in the chosen version.

    Raises:
        PipError: pip finds no set that fits.
    """
    chooser = SetChooser(facts=facts, sources=sources, allow_unhashed=allow_unhashed)
    notes: tuple[str, ...] = ()
    while True:
        found = chooser.choose(requests)
        new = [c.link for c in found.chosen if c.link and (reinstall or not c.choice.installed)]
        downloads = () if found.missing else resolve(facts, new, pip, chooser)
        found = replace(found, downloads=downloads, notes=(*notes, *found.notes))
        if any(choice.package == "torch" for choice in found.choices):
            return found
        # pip alone would take the torch of the default index, which is the CPU build on Windows
        for_a_dependency = any(download.name == "torch" for download in downloads)
        if not for_a_dependency and (facts.torch or not found.missing):
            return found
        requests = [Requirement("torch"), *requests]
        notes = ("torch is needed and is not installed",)


def parse_request(text: str) -> Requirement:
    """A requirement (`flash-attn`, `torch<2.9`), or a wheel by its path or address.

    Raises:
        UserError: it is neither.
    """
    url = is_url(text)
    plain = text.partition("#")[0].partition("?")[0] if url else text
    try:
        if not plain.endswith(".whl") or (url and " @ " in plain):
            return Requirement(text)
        address = text if url else Path(text).absolute().as_uri()
        return Requirement(f"{read(plain).distribution} @ {address}")
    except (InvalidRequirement, WheelNameError) as error:
        raise UserError(
            f"{text!r} names no package: {' '.join(str(error).split())}",
            "Write flash-attn, 'torch<2.9', or a wheel's path.",
        ) from None


def parse_requests(texts: Iterable[str]) -> tuple[Requirement, ...]:
    """The requests by name; raises UserError for an invalid one, or one that is named twice."""
    found: dict[str, Requirement] = {}
    for text in texts:
        request = parse_request(text)
        name = canonicalize_name(request.name)
        if name in found:
            raise UserError(
                f"{name} is named twice",
                "Name it once, with all that is asked of it: 'torch>=2.8,<2.10'.",
            )
        found[name] = request
    return tuple(found.values())


# never replaced because something else asks for another version
_HELD = ("torch", FORK, "triton")


def resolve(
    facts: Facts, links: Sequence[WheelLink], pip: Pip, chooser: SetChooser
) -> tuple[FileSource, ...]:
    """The chosen wheels in their order, then what they need and the target lacks.

    Installed distributions that matter are held in their version, so that no dependency replaces
    torch.

    Raises:
        PipError: pip finds no set that fits, or insists on other files.
    """
    if not links:
        return ()
    wanted: list[str] = []
    names = {link.name.distribution for link in links}
    chip = needs_of(facts).chip
    for link in links:
        requires = chooser.content_of(link).requires
        if requires is None:
            chooser.sources.say(f"fetching {link.file}: its server sends no parts of it")
            requires = content_of(obtain(link.location, link.sha256), deep=False).requires
        wanted += (line for line in requires or () if _others(line, names))
        wanted += (part for line in requires or () if chip and (part := for_chip(line, chip)))
    for asked in map(Requirement, wanted):
        # pip would go there, and run the code of what it finds to build it
        if asked.url:
            raise PipError(
                f"a wheel asks for {asked.name} at {addresses.without_secrets(asked.url)}",
                "Take another version of the wheel, or another place of wheels.",
            )
    allowed = os.environ.get(f"PIP_{CONSTRAINT}")
    if allowed:  # holds for the chosen wheels as well
        wanted += map(_itself, links)
    found: tuple[FileSource, ...] = ()
    versions = {d.name: d.version for d in facts.distributions}
    # pip takes seconds
    if allowed or facts.target is None or not satisfied(wanted, facts.target, versions):
        # by version where pip finds it: something else may ask for torch
        pins = {k.name.distribution: str(k.name.version) for k in links if k.index}
        for name in (*_HELD, *(p.name for p in packages.load().values() if p.follows_torch)):
            have = facts.distribution(name) if name not in names else None
            pins |= {have.name: have.version} if have else {}
        limits = (f"{name}=={version}" for name, version in pins.items())
        try:
            found = dry_run(pip, wanted, options=_options(links, chooser.sources), limits=limits)
        except PipError as error:
            raise (_of_rocm(wanted, links, facts, chip) if chip else None) or error from None
    others = tuple(item for item in found if item.name not in names)
    for item in others:
        if not _may_come_from(item.location, chooser.sources):
            raise PipError(
                f"{item.name} would come from {addresses.without_secrets(item.location)}",
                "Only https, localhost and the local folders that were named are used.",
            )
    return (*map(_download, links), *others)


def _of_rocm(
    wanted: Sequence[str], links: Sequence[WheelLink], facts: Facts, chip: Chip
) -> PipError | None:
    """An error where `rocm` has to come first: AMD publishes it as a source archive alone."""
    asked = next((r for r in map(Requirement, wanted) if r.name == "rocm"), None)
    index = next((link.index for link in links if link.index), None)
    have = facts.distribution("rocm")
    there = asked and have and asked.specifier.contains(have.version, prereleases=True)
    if asked is None or there or index is None or facts.target is None:
        return None
    python = word(facts.target.executable) or "python"
    return PipError(
        f"this torch needs rocm{asked.specifier}, which AMD publishes as a source archive alone: "
        "its code would run, and nothing is built for an install",
        f'Install it yourself, then try again: {python} -m pip install --index-url "{index}" '
        f'"rocm[libraries,device-{chip.name}]{asked.specifier}"',
    )


def _itself(link: WheelLink) -> str:
    """The requirement of a chosen wheel; one that pip reads whole is fetched and checked before."""
    if link.index is not None:
        return f"{link.name.distribution}=={link.name.version}"
    path = obtain(link.location, link.sha256)
    return by_address(link.name.distribution, str(path), link.sha256)


def _others(line: str, names: Collection[str]) -> bool:
    """True for a requirement of something that is not installed with it, and of no extra."""
    wanted = read_requirement(line)
    if wanted is None or canonicalize_name(wanted.name) in names:
        return False
    return "extra" not in str(wanted.marker)


def _options(links: Iterable[WheelLink], sources: Sources) -> list[str]:
    """The places that pip may look at: those that were looked at here, and no other."""
    folders = [p for place in sources.lists if (p := addresses.local_path(place)) and is_folder(p)]
    options = [f"--find-links={folder.absolute()}" for folder in folders]
    of_links = [link.index for link in links if link.index]
    indexes_used = dict.fromkeys((*sources.indexes, *of_links))
    usable = [
        index
        for index in indexes_used
        if addresses.is_trusted(index) and (not sources.offline or addresses.local_path(index))
    ]
    if not usable:
        return [*options, "--no-index"]
    first, *more = usable
    return [*options, f"--index-url={first}", *(f"--extra-index-url={i}" for i in more)]


def _may_come_from(location: str, sources: Sources) -> bool:
    """True for what pip may take besides the chosen wheels: a page may not offer local files."""
    path, share = addresses.local_path(location), addresses.share_of(location)
    if path is None:
        return addresses.is_trusted(location)
    indexes = [index for index in sources.indexes if addresses.local_path(index)]
    if indexes and share in {None, *map(addresses.share_of, indexes)}:
        return True
    folders = [folder for place in sources.lists if (folder := addresses.local_path(place))]
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)


def _download(link: WheelLink) -> FileSource:
    """The file of a chosen wheel; raises PipError where one of this machine has another hash."""
    path = addresses.local_path(link.location)
    of_file = file_hash(path) if path is not None else None
    if link.sha256 and of_file not in {None, link.sha256}:
        raise PipError(
            f"{link.location} has the hash {of_file}, not {link.sha256}",
            "It was damaged, or replaced. Do not install it.",
        )
    return replace(link.as_file(), sha256=link.sha256 or of_file)


# markers without a fact of the target; packaging would evaluate them for this system
_UNKNOWN = ("platform_version", "platform_release")


def satisfied(lines: Iterable[str], target: Interpreter, versions: Mapping[str, str]) -> bool:
    """True if these Requires-Dist lines are satisfied; False also if only pip can tell.

    Args:
        versions: of what is there, by normalised name.
    """
    lines, environment = tuple(lines), marker_environment(target)
    if environment is None or any(name in line for line in lines for name in _UNKNOWN):
        return not lines
    try:
        for wanted in map(Requirement, lines):
            if wanted.marker is None or wanted.marker.evaluate(dict(environment)):
                version = versions.get(canonicalize_name(wanted.name))
                if version is None or wanted.extras or wanted.url:
                    return False
                if not wanted.specifier.contains(version, prereleases=True):
                    return False
    except (ValueError, RecursionError):  # no requirement, no version, or no comparison
        return False
    return True


def marker_environment(target: Interpreter) -> dict[str, str] | None:
    """The values of environment markers (PEP 508) in the target; None if not known."""
    if target.version is None or target.platform_tag is None or target.machine is None:
        return None
    windows = target.platform_tag.startswith("win")
    if not windows and not target.platform_tag.startswith("linux"):
        return None
    return {
        "python_version": ".".join(target.version.split(".")[:2]),
        "python_full_version": target.version,
        "implementation_version": target.version,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "nt" if windows else "posix",
        "sys_platform": "win32" if windows else "linux",
        "platform_system": "Windows" if windows else "Linux",
        "platform_machine": target.machine,
        "extra": "",
    }

"""Let pip find out what the chosen wheels need and the target lacks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tritonwin.facts.model import Facts
from tritonwin.journal.tree import file_hash
from tritonwin.support import download, wheel_metadata
from tritonwin.support.links import WheelLink
from tritonwin.support.model import Download
from tritonwin.support.packages import FORK
from tritonwin.support.pip import Pip, PipError, by_address, dry_run
from tritonwin.support.pip_environment import CONSTRAINT
from tritonwin.support.satisfied import satisfied
from tritonwin.support.sources import Sources
from tritonwin.system.files import is_folder
from tritonwin.system.scratch import scratch_folder

# built together with torch: another torch needs others of them
_COMPANIONS = ("torchvision", "torchaudio")
# never replaced because something else asks for another version
_HELD = ("torch", FORK, "triton", *_COMPANIONS)


def resolve(
    facts: Facts, links: Sequence[WheelLink], pip: Pip, sources: Sources
) -> tuple[Download, ...]:
    """The chosen wheels in their order, then what they need and the target lacks.

    Installed distributions that matter are held in their version, so that nothing replaces torch
    behind our back; torchvision and torchaudio follow a new torch.

    Raises:
        PipError: pip finds no set that fits, or insists on other files.
    """
    names = {link.name.distribution for link in links}
    companions = [
        d.name for n in _COMPANIONS if "torch" in names and (d := facts.distribution(n)) is not None
    ]
    if not companions and _need_nothing(facts, links, sources):
        return _trusted(_completed(links, ()))
    with scratch_folder() as folder:
        constraints = folder / "constraints.txt"
        constraints.write_text(_constraints(facts, {*names, *companions}), encoding="utf-8")
        for pinned in (True, False):
            # by version pip reads the metadata alone; by address it fetches the whole wheel first
            wanted = [_requirement(link, pinned=pinned) for link in links]
            found = dry_run(
                pip,
                [*wanted, *(n for n in companions if n not in names)],
                options=_options(links, sources),
                constraints=constraints,
            )
            if _as_chosen(links, found):
                return _trusted(_completed(links, found))
    raise PipError(
        "pip would install other files than those that were chosen",
        "Name the wheels by their path or address.",
    )


def _need_nothing(facts: Facts, links: Sequence[WheelLink], sources: Sources) -> bool:
    """Whether it is plain that nothing is missing; pip, which may take seconds, is not asked."""
    if facts.target is None or os.environ.get(f"PIP_{CONSTRAINT}"):
        return False
    versions = {d.name: d.version for d in facts.distributions}
    versions |= {link.name.distribution: str(link.name.version) for link in links}
    metadata = [wheel_metadata.requires(link, offline=sources.offline) for link in links]
    return all(lines is not None and satisfied(lines, facts.target, versions) for lines in metadata)


def _constraints(facts: Facts, free: set[str]) -> str:
    """Hold what must not change because something else asks for it."""
    held = (facts.distribution(name) for name in _HELD if name not in free)
    return "".join(f"{d.name}=={d.version}\n" for d in held if d is not None)


def _requirement(link: WheelLink, *, pinned: bool) -> str:
    name = link.name.distribution
    if pinned and link.index:
        return f"{name}=={link.name.version}"
    return by_address(name, link.location, link.sha256)


def _options(links: Iterable[WheelLink], sources: Sources) -> list[str]:
    """The places that pip may look at: those that were looked at here, and no other."""
    folders = [p for place in sources.lists if (p := download.local_path(place)) and is_folder(p)]
    options = [f"--find-links={folder.absolute()}" for folder in folders]
    of_links = [link.index for link in links if link.index]
    indexes_used = dict.fromkeys((*sources.indexes, *of_links))
    usable = [
        index
        for index in indexes_used
        if download.is_trusted(index) and (not sources.offline or download.local_path(index))
    ]
    if not usable:
        return [*options, "--no-index"]
    first, *more = usable
    return [*options, f"--index-url={first}", *(f"--extra-index-url={i}" for i in more)]


def _trusted(downloads: tuple[Download, ...]) -> tuple[Download, ...]:
    for item in downloads:
        if not download.is_trusted(item.location):
            raise PipError(
                f"{item.name} would come from {download.without_secrets(item.location)}",
                "Only https, localhost and local files are used.",
            )
    return downloads


def _as_chosen(links: Iterable[WheelLink], found: Iterable[Download]) -> bool:
    files = {item.name: WheelLink(location=item.location, source="pip").file for item in found}
    return all(files.get(k.name.distribution, k.file) == k.file for k in links)


def _completed(links: Sequence[WheelLink], found: Iterable[Download]) -> tuple[Download, ...]:
    """The chosen wheels in their order, then the rest, each with its hash and size if known."""
    by_name = {item.name: item for item in found}
    main = []
    for link in links:
        name = link.name.distribution
        item = by_name.pop(name, None)  # pip leaves out what is installed in that version
        sha256 = link.sha256 or (item.sha256 if item else None)
        of_file = _hash_of_file(link)
        if sha256 and of_file not in {None, sha256}:
            raise PipError(
                f"{link.location} has the hash {of_file}, not {sha256}",
                "It was damaged, or replaced. Do not install it.",
            )
        main.append(
            Download(
                name=name,
                version=str(link.name.version),
                location=link.location,
                sha256=sha256 or of_file,
                size=link.size,
                requested=True,
            )
        )
    return (*main, *by_name.values())


def _hash_of_file(link: WheelLink) -> str | None:
    path = download.local_path(link.location)
    return file_hash(path) if path is not None else None

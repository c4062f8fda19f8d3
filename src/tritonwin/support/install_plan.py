"""From requests to exact files: choose each wheel, then let pip add what is missing."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.facts.model import Facts
from tritonwin.support import download, wheel_metadata
from tritonwin.support.chooser import Choice, Chosen, choose
from tritonwin.support.download import is_url
from tritonwin.support.indexes import torch_index
from tritonwin.support.links import WheelLink
from tritonwin.support.matrix import series
from tritonwin.support.needs import Needs, needs_of
from tritonwin.support.pairing import released, wanted_series
from tritonwin.support.pip import Download, Pip, PipError, configured_places, dry_run
from tritonwin.support.rules import FORK
from tritonwin.support.sources import Sources, find
from tritonwin.support.wheel_names import WheelNameError, read

# built together with torch: another torch needs others of them
_COMPANIONS = ("torchvision", "torchaudio")
# never replaced because something else asks for another version
_HELD = ("torch", FORK, "triton", *_COMPANIONS)
_BLOCK = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A distribution that is there already and is what would have been chosen."""

    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class InstallPlan:
    """What would be installed: the choices with their reasons, and every file.

    Attributes:
        downloads: the chosen wheels and what they miss, in the order of installation; they replace
            what is installed under the same name.
    """

    schema: Literal["tritonwin.install/1"] = "tritonwin.install/1"
    target: str | None
    choices: tuple[Choice, ...]
    downloads: tuple[Download, ...] = ()
    kept: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether a wheel was found for everything that was asked for."""
        return all(choice.file for choice in self.choices)


def sources_for(
    facts: Facts,
    pip: Callable[[], Pip],
    *,
    lists: Iterable[str] = (),
    indexes: Iterable[str] = (),
    offline: bool = False,
) -> Sources:
    """Where to look for wheels: what the user named first, then where the target's pip looks.

    Args:
        pip: gives the pip that runs in the target; asked only where its configuration counts.
        indexes: package indexes in the place of those that pip is configured for.
    """
    named = Sources(lists=tuple(lists), indexes=tuple(indexes), offline=offline)
    if offline:
        return named
    tags = needs_of(facts).torch_tags
    on_torch = replace(named, torch_indexes=tuple(f"{torch_index()}/{tag}" for tag in tags))
    if named.indexes:
        return on_torch
    places = configured_places(pip())
    return replace(
        on_torch,
        lists=(*named.lists, *places.find_links),
        indexes=tuple(i for i in (places.index, *places.extra_indexes) if i),
    )


def plan(
    facts: Facts,
    requests: Sequence[Requirement],
    sources: Sources,
    pip: Pip,
    *,
    allow_unhashed: bool = False,
    reinstall: bool = False,
) -> InstallPlan:
    """Choose a wheel for every request and find out what else is missing. Nothing changes.

    What finds no wheel is left out of the downloads: see `InstallPlan.complete`.

    Args:
        requests: from `parse_request`.
        pip: runs in the target.
        reinstall: take also what is installed in the chosen version.

    Raises:
        PipError: pip finds no set that fits.
    """
    needs, chosen, notes = needs_of(facts), list[Chosen](), list[str]()
    for request in _ordered(requests):
        found = _choose(request, needs, sources, allow_unhashed=allow_unhashed)
        chosen.append(found)
        if found.link and found.choice.package == "torch":
            needs = needs.with_torch(found.link)
            if _triton_has_to_follow(facts, needs, requests):
                notes.append(f"{FORK} is replaced as well: the installed one is for another torch")
                chosen.append(
                    _choose(Requirement(FORK), needs, sources, allow_unhashed=allow_unhashed)
                )
    kept = tuple(_kept(facts, chosen)) if not reinstall else ()
    new = [c.link for c in chosen if c.link and c.choice.package not in {k.name for k in kept}]
    downloads = _resolve(facts, new, pip, sources) if new else ()
    if any(d.name == "torch" and not d.requested for d in downloads):
        # pip alone would take the default index's torch, which is the CPU build on Windows
        again = plan(
            facts,
            [Requirement("torch"), *requests],
            sources,
            pip,
            allow_unhashed=allow_unhashed,
            reinstall=reinstall,
        )
        return replace(again, notes=("torch is needed and is not installed", *again.notes))
    return InstallPlan(
        target=facts.target.executable if facts.target else None,
        choices=tuple(c.choice for c in chosen),
        downloads=downloads,
        kept=kept,
        notes=tuple(notes),
    )


def parse_request(text: str) -> Requirement:
    """A requirement (`flash-attn`, `torch<2.9`), or a wheel by its path or address.

    Raises:
        UserError: it is neither.
    """
    plain = text.partition("#")[0]
    try:
        if not plain.partition("?")[0].endswith(".whl") or " @ " in plain:
            return Requirement(text)
        address = text if is_url(text) else Path(text).absolute().as_uri()
        return Requirement(f"{read(plain).distribution} @ {address}")
    except (InvalidRequirement, WheelNameError) as error:
        msg = f"{text!r} names no package: {' '.join(str(error).split())}"
        raise UserError(msg, "Write flash-attn, 'torch<2.9', or a wheel's path.") from None


def _ordered(requests: Iterable[Requirement]) -> list[Requirement]:
    """torch first, for the others have to fit it, then its Triton."""
    order = {"torch": 0, FORK: 1}
    return sorted(requests, key=lambda r: order.get(canonicalize_name(r.name), 2))


def _choose(
    request: Requirement, needs: Needs, sources: Sources, *, allow_unhashed: bool
) -> Chosen:
    package = canonicalize_name(request.name)
    if request.url:
        sources = Sources(lists=(request.url,), offline=sources.offline)
    listing = find(package, sources)
    notes = list(listing.notes)
    if not listing.links:
        notes.append(f"no source names a wheel of {package}; name one with --index or --find-links")
    if package == FORK and (waiting := _not_released_yet(needs)):
        notes.append(waiting)
    return choose(
        request,
        listing.links,
        needs,
        requires_of=lambda link: wheel_metadata.requires(link, offline=sources.offline),
        allow_unhashed=allow_unhashed,
        notes=notes,
    )


def _not_released_yet(needs: Needs) -> str | None:
    wanted = wanted_series(needs.torch) if needs.torch else None
    if needs.torch is None or wanted is None or released(wanted):
        return None
    return (
        f"torch {needs.torch.version} wants Triton {wanted}, and no triton-windows {wanted} exists "
        f"yet: wait for it, or take an older torch (tritonwin install torch {FORK})"
    )


def _triton_has_to_follow(facts: Facts, needs: Needs, requests: Iterable[Requirement]) -> bool:
    installed = facts.distribution(FORK)
    if installed is None or any(canonicalize_name(r.name) == FORK for r in requests):
        return False
    return series(installed.version) not in needs.triton_series


def _kept(facts: Facts, chosen: Iterable[Chosen]) -> Iterable[Kept]:
    for item in chosen:
        installed = facts.distribution(item.choice.package)
        if installed and item.choice.version == installed.version:
            yield Kept(name=installed.name, version=installed.version)


def _resolve(
    facts: Facts, links: Sequence[WheelLink], pip: Pip, sources: Sources
) -> tuple[Download, ...]:
    """Ask pip for the files: the chosen wheels, and what they need and the target lacks."""
    names = {link.name.distribution for link in links}
    companions = [
        d.name for n in _COMPANIONS if "torch" in names and (d := facts.distribution(n)) is not None
    ]
    with tempfile.TemporaryDirectory(prefix="tritonwin-") as folder:
        constraints = Path(folder, "constraints.txt")
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
                return _completed(links, found)
    msg = "pip would install other files than those that were chosen"
    raise PipError(msg, "Name the wheels by their path or address.")


def _constraints(facts: Facts, free: set[str]) -> str:
    """Hold what must not change because something else asks for it."""
    held = (facts.distribution(name) for name in _HELD if name not in free)
    return "".join(f"{d.name}=={d.version}\n" for d in held if d is not None)


def _requirement(link: WheelLink, *, pinned: bool) -> str:
    name = link.name.distribution
    if pinned and link.index:
        return f"{name}=={link.name.version}"
    path = download.local_path(link.location)
    address = path.absolute().as_uri() if path is not None else link.location
    return f"{name} @ {address}" + (f"#sha256={link.sha256}" if link.sha256 else "")


def _options(links: Iterable[WheelLink], sources: Sources) -> list[str]:
    """The places that pip may look at: those that were looked at here, and no other."""
    folders = [p for place in sources.lists if (p := download.local_path(place)) and p.is_dir()]
    options = [f"--find-links={folder.absolute()}" for folder in folders]
    of_links = [link.index for link in links if link.index]
    indexes_used = dict.fromkeys((*sources.indexes, *of_links))
    usable = [i for i in indexes_used if not sources.offline or download.local_path(i) is not None]
    if not usable:
        return [*options, "--no-index"]
    first, *more = usable
    return [*options, f"--index-url={first}", *(f"--extra-index-url={i}" for i in more)]


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
        main.append(
            Download(
                name=name,
                version=str(link.name.version),
                location=link.location,
                sha256=sha256 or _hash_of_file(link),
                size=link.size,
                requested=True,
            )
        )
    return (*main, *by_name.values())


def _hash_of_file(link: WheelLink) -> str | None:
    path = download.local_path(link.location)
    if path is None:
        return None
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()

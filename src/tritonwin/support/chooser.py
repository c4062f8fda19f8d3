"""Choose wheels that fit the target and each other, with the reason against every other one.

Torch is chosen first, because the others have to fit it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tritonwin.facts.records import Facts
from tritonwin.support import fitting, matrix, packages, versions, wheels
from tritonwin.support.addresses import DownloadError, without_secrets
from tritonwin.support.fitting import Needs, needs_of
from tritonwin.support.links import WheelLink
from tritonwin.support.lists import keep, kept
from tritonwin.support.packages import FORK
from tritonwin.support.sources import Sources, find
from tritonwin.support.versions import series
from tritonwin.support.wheel_choice import FileSource, Rejection, WheelChoice
from tritonwin.support.wheel_files import WheelContent, look_into
from tritonwin.support.wheels import WheelNameError

ContentOf = Callable[[WheelLink], WheelContent]
Build = tuple[str | None, str | None]

_NO_HASH = "no hash is known for it (--allow-unhashed takes it anyway)"
_UNHASHED = "Without a hash nothing shows whether it was damaged on its way, or replaced"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The wheel that was taken, if any, and the record of the choice."""

    link: WheelLink | None
    choice: WheelChoice


def choose(
    request: Requirement,
    links: Iterable[WheelLink],
    needs: Needs,
    *,
    content_of: ContentOf = lambda _: WheelContent(requires=()),
    allow_unhashed: bool = False,
    passed: Mapping[Build, str] = MappingProxyType({}),
    notes: Sequence[str] = (),
) -> Chosen:
    """Take the best of the wheels that fit.

    Args:
        links: candidates of the requested package, preferred sources first.
        content_of: reads a wheel itself; called for wheels that fit by name, best first, until one
            is taken.
        allow_unhashed: take a wheel from the network for which no hash is known.
        passed: builds of torch that are not taken, with the reason.
        notes: of the collection of the candidates.
    """
    rejected: list[Rejection] = []

    def reject(link: WheelLink, *reasons: str) -> None:
        location = without_secrets(link.location)
        rejected.append(
            Rejection(file=link.file, location=location, source=link.source, reasons=reasons)
        )

    ranked: list[tuple[dict[str, Any], WheelLink]] = []
    for place, link in enumerate(links):
        if against := _against(request, link, needs, passed, allow_unhashed=allow_unhashed):
            reject(link, *against)
        else:
            ranked.append((_merits(link, needs, place), link))
    ranked.sort(key=lambda item: tuple(item[0].values()), reverse=True)
    taken, content, best = None, WheelContent(), dict[str, Any]()
    for merits, link in ranked:
        if taken is not None:
            better = next(words for words, merit in best.items() if merit != merits[words])
            reject(link, f"fits, but {taken.file} {better}")
            continue
        content = content_of(link)
        if wrong := fitting.content_misfit(link, content, needs):
            reject(link, wrong)
        else:
            taken, best = link, merits
    unhashed = [r.file for r in rejected if r.reasons == (_NO_HASH,)]
    if taken is None and unhashed:
        notes = (*notes, f"{unhashed[0]} fits. With --allow-unhashed it is taken. {_UNHASHED}")
    package = canonicalize_name(request.name)
    choice = WheelChoice(
        package=package,
        request=f"{request.name} @ {without_secrets(request.url)}" if request.url else str(request),
        version=str(taken.name.version) if taken else None,
        file=taken.file if taken else None,
        location=without_secrets(taken.location) if taken else None,
        source=taken.source if taken else None,
        sha256=taken.sha256 if taken else None,
        size=taken.size if taken else None,
        rejected=tuple(rejected),
        notes=(
            *notes,
            *(_notes(taken, content, needs) if taken else fitting.advice(package, needs)),
        ),
    )
    return Chosen(link=taken, choice=choice)


def _against(
    request: Requirement,
    link: WheelLink,
    needs: Needs,
    passed: Mapping[Build, str],
    *,
    allow_unhashed: bool,
) -> tuple[str, ...]:
    if link.refused is not None:
        return (link.refused,)
    try:
        version = link.name.version
    except WheelNameError as error:
        return (f"not a valid wheel name ({error})",)
    found = list(fitting.reasons(link, needs))
    if not request.specifier.contains(version, prereleases=True):
        found.insert(0, f"not what was asked for ({request.specifier})")
    elif version.is_prerelease and not request.specifier.prereleases:
        found.append("a pre-release: ask for it by its version")
    if link.name.distribution == "torch" and (reason := passed.get(_build(link))):
        found.append(reason)
    if not link.local and link.sha256 is None and not allow_unhashed:
        found.append(_NO_HASH)
    if not link.local and needs.offline:
        found.append("it would have to be fetched (--offline)")
    return tuple(found)


def _merits(link: WheelLink, needs: Needs, place: int) -> dict[str, Any]:
    """The merits of a fitting wheel in words: they are compared from the first on."""
    name, built_for = link.name, link.built_for
    knows = bool(built_for.torch or link.local or link.index or link.metadata)
    torch = needs.torch.version.partition("+")[0] if needs.torch else None
    stays = name.distribution == FORK and needs.stays(str(name.version))
    rank = wheels.tag_rank(name.tags, needs.tags)
    return {
        "says for which torch it is built": knows or name.distribution not in packages.load(),
        "is built for the ROCm that is installed": built_for.rocm == (needs.rocm or ""),
        "is the last of which all works on this GPU, as the installed one": stays,
        "is newer": Version(name.version.public),
        "is built for this very version of torch": torch is not None and built_for.torch == torch,
        "is built for the CUDA that suits this torch or driver best": _cuda_merit(link, needs),
        "is made for this very Python": -(rank or 0),
        "comes with a hash": link.sha256 is not None or link.local,
        "is a newer build": name.version,
        "is named first": -place,
    }


def _cuda_merit(link: WheelLink, needs: Needs) -> int:
    """Nearness to torch's CUDA, or for torch itself to the head of the tags that fit."""
    cuda = link.built_for.cuda
    if cuda is None:
        return -len(needs.torch_tags)
    if link.name.distribution != "torch":
        return int(needs.torch is not None and cuda == needs.torch.cuda)
    tag = "cu" + cuda.replace(".", "")
    tags = needs.torch_tags
    return -tags.index(tag) if tag in tags else -len(tags)


def _notes(link: WheelLink, content: WheelContent, needs: Needs) -> Iterator[str]:
    yield from fitting.costs(link, needs)
    if not link.local and link.sha256 is None:
        yield _UNHASHED
    if not link.local and content.requires is None:
        yield "it is looked into after the download: its server sent no parts of it in time"
    package = link.name.distribution
    if package == "torch" and needs.chip and link.built_for.rocm:
        yield f"for {needs.chip.name}, with ROCm {link.built_for.rocm}; never tried on a card here"
    elif package == "torch" and needs.windows and link.built_for.cuda is None:
        yield "a build without CUDA: no NVIDIA GPU was found"
    elif package == "torch" and needs.machine == "ARM64":
        yield matrix.load().arm64
    known = packages.load().get(package)
    if known and known.uncompiled and link.name.pure:
        yield known.uncompiled
    if known and link.built_for.torch is None and not link.name.pure:
        yield f"{link.file} does not say for which torch it is built: its import is the proof"


@dataclass(frozen=True, kw_only=True)
class InstallPlan:
    """The choices for all requests, torch first, and every file that would be installed.

    Attributes:
        downloads: the chosen wheels and missing dependencies, in the order of installation; they
            replace distributions of the same name.
    """

    chosen: tuple[Chosen, ...]
    downloads: tuple[FileSource, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[WheelChoice, ...]:
        return tuple(chosen.choice for chosen in self.chosen)

    @property
    def missing(self) -> tuple[WheelChoice, ...]:
        """The requests for which no wheel was found; then there are no downloads."""
        return tuple(chosen.choice for chosen in self.chosen if chosen.link is None)

    @property
    def torch(self) -> WheelLink | None:
        """The torch that was chosen."""
        return next((c.link for c in self.chosen if c.choice.package == "torch"), None)


@dataclass(frozen=True, kw_only=True)
class SetChooser:
    """Chooses from the sources; each list and each wheel is read once."""

    facts: Facts
    sources: Sources
    allow_unhashed: bool = False
    _contents: dict[str, WheelContent] = field(default_factory=dict)

    def choose(self, requests: Sequence[Requirement]) -> InstallPlan:
        """The best torch for which everything else has a wheel, else the best torch.

        With a torch that is not the installed one come triton-windows, torchvision and torchaudio,
        where they are installed.
        """
        passed: dict[Build, str] = {}
        first = tried = self._for_one_torch(requests, passed)
        while tried.torch is not None and tried.missing:
            missing = ", ".join(choice.package for choice in tried.missing)
            passed[_build(tried.torch)] = f"there is no {missing} for it"
            tried = self._for_one_torch(requests, passed)
        if tried is first or tried.torch is None or first.torch is None:
            return first
        names = ", ".join(choice.package for choice in first.missing)
        taken, best = tried.torch.name.version, first.torch.name.version
        note = f"torch {taken}, not {best}: there is no {names} for that"
        return replace(tried, notes=(note, *tried.notes))

    def _for_one_torch(
        self, requests: Sequence[Requirement], passed: Mapping[Build, str]
    ) -> InstallPlan:
        needs = replace(needs_of(self.facts), offline=self.sources.offline)
        first = {"torch": 0, FORK: 1}
        to_do = sorted(requests, key=lambda r: first.get(canonicalize_name(r.name), 2))
        chosen, notes = list[Chosen](), list[str]()
        for request in to_do:
            found = self._one(request, needs, passed)
            chosen.append(found)
            if found.link and found.choice.package == "torch":
                needs = needs.with_torch(found.link)
                along = list(self._along(found.link, needs, requests))
                notes += (f"{name} is replaced as well: it is for another torch" for name in along)
                to_do[1:1] = map(Requirement, along)
        return InstallPlan(chosen=tuple(chosen), notes=tuple(notes))

    def _along(
        self, torch: WheelLink, needs: Needs, requests: Iterable[Requirement]
    ) -> Iterator[str]:
        """Installed packages that have to follow the torch, and are not asked for."""
        asked = {canonicalize_name(request.name) for request in requests}
        fork = self.facts.distribution(FORK)
        if fork and FORK not in asked and not needs.takes(fork.version):
            yield FORK
        have = self.facts.distribution("torch")
        if have is None:
            return
        stays = have.version == str(torch.name.version)
        for package in packages.load().values():
            found = self.facts.distribution(package.name) if package.follows_torch else None
            if found is None or package.name in asked:
                continue
            rocm = wheels.read_local(found.version.partition("+")[2]).rocm
            if not stays or rocm != torch.built_for.rocm:
                yield found.name

    def _one(self, request: Requirement, needs: Needs, passed: Mapping[Build, str]) -> Chosen:
        package = canonicalize_name(request.name)
        sources = self.sources
        if request.url:
            sources = Sources(lists=(request.url,), offline=sources.offline, run=sources.run)
        listing = find(package, sources)
        notes = list(listing.notes)
        if not listing.links:
            notes.append(f"no source names a wheel of {package}: name one (--index, --find-links)")
        found = choose(
            request,
            listing.links,
            needs,
            content_of=self.content_of,
            allow_unhashed=self.allow_unhashed,
            passed=passed,
            notes=notes,
        )
        places = sources.public.places if sources.public else ()
        trust = next((p.trust for p in places if p.name == found.choice.source), None)
        have, mine = self.facts.distribution(package), found.link and found.link.name.version
        # by value: a wheel says cxx11abiTRUE, its normalised name cxx11abitrue
        same = have is not None and mine is not None and versions.parse(have.version) == mine
        choice = replace(found.choice, installed=same, trust=trust, unread=listing.unread)
        return replace(found, choice=choice)

    def content_of(self, link: WheelLink) -> WheelContent:
        """The content of a wheel, from a former run where its hash is known.

        One on a server is looked into as long as there is time for all of them together.
        """
        if link.location in self._contents:
            return self._contents[link.location]
        sources, key = self.sources, f"{link.location}#{link.sha256}"
        known = link.sha256 is not None and not link.local
        content = kept(sources.folder, key, WheelContent) if known else None
        if content is None and link.local:
            content = look_into(link)
        elif content is None and not sources.offline:
            with contextlib.suppress(DownloadError):  # no time is left
                seconds = sources.run.seconds()
                sources.say(f"reading parts of {link.file}")
                content = look_into(link, seconds)
                if known and content.requires is not None:
                    keep(sources.folder, key, content)
        self._contents[link.location] = content or WheelContent()
        return self._contents[link.location]


def _build(torch: WheelLink) -> Build:
    """The series and the CUDA of a torch."""
    return series(str(torch.name.version)), torch.built_for.cuda

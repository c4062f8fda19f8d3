"""Choose wheels that fit the target and each other, with the reason against every other one.

Torch is chosen first, because the others have to fit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tritonwin.facts.records import Facts
from tritonwin.support import fitting, packages, wheels
from tritonwin.support.download import without_secrets
from tritonwin.support.fitting import Needs, needs_of
from tritonwin.support.links import WheelLink
from tritonwin.support.matrix import released, wanted_series
from tritonwin.support.packages import FORK
from tritonwin.support.sources import Listing, Sources, fault_of, find, requires_dist
from tritonwin.support.versions import series
from tritonwin.support.wheel_choice import Rejection, WheelChoice
from tritonwin.support.wheels import WheelNameError

RequiresOf = Callable[[WheelLink], "tuple[str, ...] | None"]

# The entries of `_merits` in words, for a wheel that fits and is not the best.
_PREFERRED = (
    "says for which torch it is built",
    "is newer",
    "is built for this very version of torch",
    "is built for the CUDA that suits this torch or driver best",
    "is made for this very Python",
    "comes with a hash",
    "is a newer build",
    "is named first",
)


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
    requires_of: RequiresOf = lambda _: None,
    fault_of: Callable[[WheelLink], str | None] = lambda _: None,
    allow_unhashed: bool = False,
    notes: Sequence[str] = (),
) -> Chosen:
    """Take the best of the wheels that fit.

    Args:
        links: candidates of the requested package, preferred sources first.
        requires_of: reads a wheel's Requires-Dist lines, None if they cannot be read; called for
            wheels that fit by name, best first, until one is taken.
        fault_of: tells what is wrong with a wheel's file, where it is at hand.
        allow_unhashed: take a wheel from the network for which no hash is known.
        notes: messages from the collection of the candidates.
    """
    rejected: list[Rejection] = []
    ranked: list[tuple[tuple[Any, ...], WheelLink]] = []
    for place, link in enumerate(links):
        against = _against(request, link, needs, allow_unhashed=allow_unhashed)
        if against:
            rejected.append(_rejection(link, against))
        else:
            ranked.append((_merits(link, needs, place), link))
    ranked.sort(key=lambda item: item[0], reverse=True)
    best: tuple[tuple[Any, ...], WheelLink] | None = None
    for merits, fit in ranked:
        if best is not None:
            rejected.append(_rejection(fit, (_second_to(best, merits),)))
        elif wrong := fault_of(fit):
            rejected.append(_rejection(fit, (wrong,)))
        elif against_torch := fitting.requirements(requires_of(fit) or (), needs):
            rejected.append(_rejection(fit, (against_torch,)))
        else:
            best = (merits, fit)
    unhashed = [r.file for r in rejected if r.reasons == (_NO_HASH,)]
    if best is None and unhashed:
        notes = (*notes, f"{unhashed[0]} fits. With --allow-unhashed it is taken. {_UNHASHED}")
    return Chosen(
        link=best[1] if best else None,
        choice=_report(request, best[1] if best else None, needs, rejected, notes),
    )


def _report(
    request: Requirement,
    link: WheelLink | None,
    needs: Needs,
    rejected: Iterable[Rejection],
    notes: Iterable[str],
) -> WheelChoice:
    return WheelChoice(
        package=canonicalize_name(request.name),
        request=str(request),
        version=str(link.name.version) if link else None,
        file=link.file if link else None,
        location=without_secrets(link.location) if link else None,
        source=link.source if link else None,
        sha256=link.sha256 if link else None,
        rejected=tuple(rejected),
        notes=(
            *notes,
            *(
                _notes(link, needs)
                if link
                else fitting.advice(canonicalize_name(request.name), needs)
            ),
        ),
    )


def _against(
    request: Requirement, link: WheelLink, needs: Needs, *, allow_unhashed: bool
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
    if not link.local and link.sha256 is None and not allow_unhashed:
        found.append(_NO_HASH)
    return tuple(found)


def _merits(link: WheelLink, needs: Needs, place: int) -> tuple[Any, ...]:
    """The sort key of a fitting wheel: its entries are compared from the first on."""
    name, built_for = link.name, link.built_for
    knows = bool(built_for.torch or link.local or link.index or link.metadata)
    torch = needs.torch.version.partition("+")[0] if needs.torch else None
    rank = wheels.tag_rank(name.tags, needs.tags)
    return (
        knows or name.distribution not in packages.load(),
        Version(name.version.public),
        torch is not None and built_for.torch == torch,
        _cuda_merit(link, needs),
        -(rank or 0),
        link.sha256 is not None or link.local,
        name.version,
        -place,
    )


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


def _second_to(best: tuple[tuple[Any, ...], WheelLink], merits: tuple[Any, ...]) -> str:
    differing = next(i for i, (a, b) in enumerate(zip(best[0], merits, strict=True)) if a != b)
    return f"fits, but {best[1].file} {_PREFERRED[differing]}"


def _rejection(link: WheelLink, reasons: tuple[str, ...]) -> Rejection:
    return Rejection(
        file=link.file,
        location=without_secrets(link.location),
        source=link.source,
        reasons=reasons,
    )


def _notes(link: WheelLink, needs: Needs) -> Iterator[str]:
    partly = fitting.works_partly(link, needs)
    if partly:
        yield partly
    if not link.local and link.sha256 is None:
        yield _UNHASHED
    package = link.name.distribution
    if package == "torch" and needs.windows and link.built_for.cuda is None:
        yield "a build without CUDA: no NVIDIA GPU was found"
    compiled = any(tag.platform != "any" for tag in link.name.tags)
    if compiled and package in packages.load() and link.built_for.torch is None:
        yield f"{link.file} does not say for which torch it is built: its import is the proof"


@dataclass(frozen=True, kw_only=True)
class WheelSet:
    """The choices for all requests, torch first."""

    chosen: tuple[Chosen, ...]
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return all(item.link for item in self.chosen)

    @property
    def torch(self) -> str | None:
        """The series of the torch that was chosen."""
        found = next((c.choice for c in self.chosen if c.choice.package == "torch"), None)
        return series(found.version) if found and found.version else None


@dataclass(frozen=True, kw_only=True)
class SetChooser:
    """Chooses from the sources, each of which is read once."""

    facts: Facts
    sources: Sources
    allow_unhashed: bool = False
    _listings: dict[tuple[str, str | None], Listing] = field(default_factory=dict)

    def choose(self, requests: Sequence[Requirement]) -> WheelSet:
        """The newest torch for which all other requests have a wheel, else the newest torch."""
        first = tried = self._for_one_torch(requests)
        while tried.torch and not tried.complete:
            older = [_below(request, tried.torch) for request in requests]
            tried = self._for_one_torch(older)
        if not tried.complete or tried is first:
            return first
        names = ", ".join(c.choice.package for c in first.chosen if not c.link)
        note = f"torch {tried.torch}, not {first.torch}: there is no {names} for a newer one"
        return WheelSet(chosen=tried.chosen, notes=(note, *tried.notes))

    def _for_one_torch(self, requests: Sequence[Requirement]) -> WheelSet:
        needs, chosen, notes = needs_of(self.facts), list[Chosen](), list[str]()
        for request in _ordered(requests):
            found = self._one(request, needs)
            chosen.append(found)
            if found.link and found.choice.package == "torch":
                needs = needs.with_torch(found.link)
                if self._triton_has_to_follow(needs, requests):
                    notes.append(f"{FORK} is replaced as well: it is for another torch")
                    chosen.append(self._one(Requirement(FORK), needs))
        return WheelSet(chosen=tuple(chosen), notes=tuple(notes))

    def _one(self, request: Requirement, needs: Needs) -> Chosen:
        package = canonicalize_name(request.name)
        listing = self._listing(package, request.url)
        notes = list(listing.notes)
        if not listing.links:
            notes.append(f"no source names a wheel of {package}: name one (--index, --find-links)")
        if package == FORK and (waiting := _not_released_yet(needs)):
            notes.append(waiting)
        return choose(
            request,
            listing.links,
            needs,
            requires_of=lambda k: requires_dist(k, offline=self.sources.offline),
            fault_of=fault_of,
            allow_unhashed=self.allow_unhashed,
            notes=notes,
        )

    def _listing(self, package: str, url: str | None) -> Listing:
        if (package, url) not in self._listings:
            named = Sources(lists=(url,), offline=self.sources.offline) if url else self.sources
            self._listings[package, url] = find(package, named)
        return self._listings[package, url]

    def _triton_has_to_follow(self, needs: Needs, requests: Iterable[Requirement]) -> bool:
        installed = self.facts.distribution(FORK)
        if installed is None or any(canonicalize_name(r.name) == FORK for r in requests):
            return False
        return series(installed.version) not in needs.triton_series


def _ordered(requests: Iterable[Requirement]) -> list[Requirement]:
    order = {"torch": 0, FORK: 1}
    return sorted(requests, key=lambda r: order.get(canonicalize_name(r.name), 2))


def _below(request: Requirement, torch: str) -> Requirement:
    """The request; for torch with its range ending below this series."""
    if canonicalize_name(request.name) != "torch":
        return request
    narrowed = Requirement(str(request))
    narrowed.specifier &= SpecifierSet(f"<{torch}")
    return narrowed


def _not_released_yet(needs: Needs) -> str | None:
    wanted = wanted_series(needs.torch) if needs.torch else None
    if needs.torch is None or wanted is None or released(wanted):
        return None
    return (
        f"torch {needs.torch.version} wants Triton {wanted}, and no triton-windows {wanted} exists "
        f"yet: wait for it, or take an older torch (tritonwin install torch {FORK})"
    )

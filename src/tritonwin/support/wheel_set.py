"""Choose wheels that fit the target and each other: torch first, for the others have to fit it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tritonwin.facts.model import Facts
from tritonwin.support import wheel_metadata
from tritonwin.support.chooser import Chosen, choose
from tritonwin.support.needs import Needs, needs_of
from tritonwin.support.packages import FORK
from tritonwin.support.pairing import released, wanted_series
from tritonwin.support.sources import Listing, Sources, find
from tritonwin.support.versions import series


@dataclass(frozen=True, kw_only=True)
class WheelSet:
    """A wheel for every request, as far as there is one, torch's the first."""

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
        """The newest torch for which everything else has a wheel; the newest where none has."""
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
            requires_of=lambda k: wheel_metadata.requires(k, offline=self.sources.offline),
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
    """The request, where it is torch's with its range ending below this series."""
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

"""From requests to exact files: choose each wheel, then let pip add what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.facts.model import Facts
from tritonwin.support.chooser import Chosen
from tritonwin.support.download import is_url
from tritonwin.support.indexes import torch_index
from tritonwin.support.model import Download, Kept, WheelChoice
from tritonwin.support.needs import needs_of
from tritonwin.support.pip import Pip, configured_places
from tritonwin.support.resolve import resolve
from tritonwin.support.sources import Sources
from tritonwin.support.uv_places import with_uv
from tritonwin.support.wheel_names import WheelNameError, read
from tritonwin.support.wheel_set import SetChooser


@dataclass(frozen=True, kw_only=True)
class InstallPlan:
    """What would be installed: the choices with their reasons, and every file.

    Attributes:
        downloads: the chosen wheels and what they miss, in the order of installation; they replace
            what is installed under the same name.
    """

    target: str | None
    choices: tuple[WheelChoice, ...]
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
    if facts.target is not None and "uv" in facts.target.managers:
        places = with_uv(places, os.environ)
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

    Where one request finds no wheel, there are no downloads: see `InstallPlan.complete`. A torch
    that is needed and not installed comes along.

    Args:
        requests: from `parse_request`.
        pip: runs in the target.
        reinstall: take also what is installed in the chosen version.

    Raises:
        PipError: pip finds no set that fits.
    """
    chooser = SetChooser(facts=facts, sources=sources, allow_unhashed=allow_unhashed)
    together = chooser.choose(requests)
    chosen = together.chosen
    kept = tuple(_kept(facts, chosen)) if not reinstall else ()
    new = [c.link for c in chosen if c.link and c.choice.package not in {k.name for k in kept}]
    downloads = resolve(facts, new, pip, sources) if new and together.complete else ()
    # pip alone would take the torch of the default index, which is the CPU build on Windows
    for_a_dependency = any(d.name == "torch" and not d.requested for d in downloads)
    for_a_choice = facts.torch is None and not together.complete
    if (for_a_dependency or for_a_choice) and not _names_torch(requests):
        again = plan(
            facts,
            [Requirement("torch"), *requests],
            sources,
            pip,
            allow_unhashed=allow_unhashed,
            reinstall=reinstall,
        )
        if for_a_dependency or again.complete:
            return replace(again, notes=("torch is needed and is not installed", *again.notes))
    return InstallPlan(
        target=facts.target.executable if facts.target else None,
        choices=tuple(c.choice for c in chosen),
        downloads=downloads,
        kept=kept,
        notes=together.notes,
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
        raise UserError(
            f"{text!r} names no package: {' '.join(str(error).split())}",
            "Write flash-attn, 'torch<2.9', or a wheel's path.",
        ) from None


def parse_requests(texts: Iterable[str]) -> tuple[Requirement, ...]:
    """What was asked for together; raises UserError for no package, or one that is named twice."""
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


def _names_torch(requests: Iterable[Requirement]) -> bool:
    return any(canonicalize_name(request.name) == "torch" for request in requests)


def _kept(facts: Facts, chosen: Iterable[Chosen]) -> Iterable[Kept]:
    for item in chosen:
        installed = facts.distribution(item.choice.package)
        if installed and item.choice.version == installed.version:
            yield Kept(name=installed.name, version=installed.version)

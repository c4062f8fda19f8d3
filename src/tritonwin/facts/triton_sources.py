"""Structural traits of a Triton's sources: what in them works on Windows and what does not.

The version string decides nothing: builds are patched, mixed and renamed. The traits are data,
in `triton_traits.toml`; this module searches for them in what Windows sees of each source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tritonwin.facts.windows_view import windows_view
from tritonwin.system.files import read_text
from tritonwin.system.toml import read_resource


@dataclass(frozen=True, kw_only=True)
class Trait:
    """A mark to search for. `blocks`: no kernel compiles or launches on Windows with it."""

    id: str
    files: tuple[str, ...]  # relative to the package; the trait is there if any of them has it
    pattern: str  # regular expressions, multi-line mode
    unless: str | None = None  # found anywhere in the same file: the trait is not there
    raw: bool = False  # search the file as it is, other systems' branches included
    blocks: bool
    meaning: str


@dataclass(frozen=True, kw_only=True)
class TraitTable:
    """The content of `triton_traits.toml`."""

    trait: tuple[Trait, ...]


@dataclass(frozen=True, kw_only=True)
class TraitHit:
    """Where a trait was found: a file relative to the package, and a line counted from 1."""

    id: str
    file: str
    line: int


@cache
def triton_traits() -> tuple[Trait, ...]:
    """Every known trait, in the order of the data file."""
    return read_resource("tritonwin.facts", "triton_traits.toml", TraitTable).trait


def read_sources(package: Path) -> dict[str, str]:
    """The sources that traits are searched in, by path relative to the package folder."""
    names = dict.fromkeys(name for trait in triton_traits() for name in trait.files)
    texts = {name: read_text(package / name) for name in names}
    return {name: text for name, text in texts.items() if text is not None}


def find_traits(sources: Mapping[str, str]) -> tuple[TraitHit, ...]:
    """The traits of these sources, each once, at its first place."""
    views: dict[str, str] = {}
    hits = (_find(trait, sources, views) for trait in triton_traits())
    return tuple(hit for hit in hits if hit is not None)


def _find(trait: Trait, sources: Mapping[str, str], views: dict[str, str]) -> TraitHit | None:
    for name in trait.files:
        text = sources.get(name, "")
        if not re.search(trait.pattern, text, re.MULTILINE):
            continue  # a view only takes away, and it costs a parse
        if not trait.raw:
            if name not in views:
                views[name] = windows_view(name, text)
            text = views[name]
        match = re.search(trait.pattern, text, re.MULTILINE)
        if match and not (trait.unless and re.search(trait.unless, text, re.MULTILINE)):
            line = text.count("\n", 0, match.start()) + 1
            return TraitHit(id=trait.id, file=name, line=line)
    return None

"""Where a DLL comes from, by its name (`dlls.toml`)."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from tritonwin.system.toml import read_resource


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A product that brings DLLs along; `text` says what to do where one is missing."""

    names: tuple[str, ...]  # patterns, lower case
    text: str


@dataclass(frozen=True, kw_only=True)
class OriginTable:
    """The content of `dlls.toml`."""

    origin: tuple[Origin, ...]


def origin(name: str) -> str:
    """The product that brings the DLL, and what to do where it is missing or too old."""
    lower = name.lower()
    return next(
        row.text for row in _table().origin if any(fnmatchcase(lower, p) for p in row.names)
    )


@cache
def _table() -> OriginTable:
    return read_resource("tritonwin.facts.dlls", "dlls.toml", OriginTable)

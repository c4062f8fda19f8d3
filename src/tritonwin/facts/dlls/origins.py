"""Where a DLL comes from, by its name (`dlls.toml`)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

from tritonwin.system.toml import shipped


def origin(name: str) -> str:
    """What brings the DLL along, and what to do where it is missing or too old."""
    lower = name.lower()
    return next(text for pattern, text in _table() if fnmatchcase(lower, pattern))


@cache
def _table() -> tuple[tuple[str, str], ...]:
    rows = shipped("tritonwin.facts.dlls", "dlls.toml")["origin"]
    return tuple((pattern, row["text"]) for row in rows for pattern in row["names"])

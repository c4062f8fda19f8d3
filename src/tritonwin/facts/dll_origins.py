"""Where a DLL comes from, by its name (`dlls.toml`)."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def origin(name: str) -> str:
    """What brings the DLL along, and what to do where it is missing or too old."""
    lower = name.lower()
    return next(text for pattern, text in _table() if fnmatchcase(lower, pattern))


@cache
def _table() -> tuple[tuple[str, str], ...]:
    text = files("tritonwin.facts").joinpath("dlls.toml").read_text("utf-8")
    rows = tomllib.loads(text)["origin"]
    return tuple((pattern, row["text"]) for row in rows for pattern in row["names"])

"""The releases of Triton whose sources the rules were tried on, by content.

`known_sources.json` is made by tools/refresh_known_sources.py. Content decides, never a version
string: builds are patched, mixed and renamed. Valid on Python 3.9, see `model`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import pkgutil


@functools.cache
def _table() -> dict[str, dict[str, list[str]]]:
    data = pkgutil.get_data("tritonwin.patch", "known_sources.json")
    assert data is not None  # noqa: S101 - it lies beside this module
    table: dict[str, dict[str, list[str]]] = json.loads(data)
    return table


def digest(text: str) -> str:
    """The key of a text with `\\n` line ends."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def releases(file: str, text: str) -> tuple[str, ...]:
    """The releases that hold this content: "3.6.0", "triton-windows 3.5.1.post24"; or none.

    Args:
        file: relative to the package folder, with slashes.
        text: with `\\n` line ends.
    """
    return tuple(_table().get(file, {}).get(digest(text), ()))

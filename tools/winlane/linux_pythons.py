"""The Pythons of this Linux, as people and services install them, and where their headers are."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_OF_USERS = (
    ".pyenv/versions/{0}.*/include/python{0}",
    ".local/share/uv/python/cpython-{0}.*-linux-x86_64-gnu/include/python{0}",
)
# where services that build for others keep several
_TOOLS = ("RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY")


def linux_headers(version: str) -> Path | None:
    """The header folder of a CPython of that minor version, the newest of several."""
    return next((place for place in _places(version) if (place / "Python.h").exists()), None)


def linux_python(version: str) -> Path | None:
    """The interpreter that belongs to those headers."""
    headers = linux_headers(version)
    program = headers.parents[1] / "bin" / f"python{version}" if headers else None
    return program if program and program.exists() else None


def _places(version: str) -> Iterator[Path]:
    for pattern in _OF_USERS:
        yield from _newest_first(Path.home(), pattern.format(version))
    for variable in _TOOLS:
        if folder := os.environ.get(variable):
            yield from _newest_first(
                Path(folder), f"Python/{version}.*/x64/include/python{version}"
            )
    if sysconfig.get_python_version() == version:  # the one that runs this
        yield Path(sys.base_prefix, "include", f"python{version}")
    for base in ("/usr", "/usr/local"):
        yield Path(base, "include", f"python{version}")


def _newest_first(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern), key=_patch_level, reverse=True)


def _patch_level(include: Path) -> int:
    """Of the version in the path: 9 for "3.12.9" and for "cpython-3.12.9-linux-x86_64-gnu"."""
    parts = (part.removeprefix("cpython-") for part in reversed(include.parts))
    full = next(part for part in parts if part.startswith("3."))
    patch = full.split("-")[0].rpartition(".")[2]
    return int(patch) if patch.isdigit() else -1

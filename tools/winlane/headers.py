"""The Pythons of this Linux, and headers of CPython: here, of the distribution, or of uv's build.

The embeddable distributions for Windows have none, and no package of an index carries any. They are
the same on every system but for pyconfig.h, of which the lane has a Windows one.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from winlane.cache import Cache, fingerprint
from winlane.errors import HeadersUnavailable, LaneError, LaneUnavailable
from winlane.resources import PYTHONS
from winlane.wine import run, unpack_debian

_RECIPE = "1"
_OF_USERS = (
    ".pyenv/versions/{0}.*/include/python{0}",
    ".local/share/uv/python/cpython-{0}.*-linux-x86_64-gnu/include/python{0}",
)
# where services that build for others keep several
_TOOLS = ("RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY")


def provide(store: Cache, version: str) -> Path:
    """A folder with the headers of a Linux CPython of that minor version.

    Raises:
        HeadersUnavailable: there are none here, and none can be fetched.
    """
    if here := linux_headers(version):
        return here
    found = _fetched(store, version)
    if isinstance(found, str):
        raise HeadersUnavailable(
            f"no headers of CPython {version} here, and none to be had "
            f"(uv python install {version}; it said: {found})"
        )
    return found


@cache  # a failed fetch is not repeated in every test
def _fetched(store: Cache, version: str) -> Path | str:
    """The folder, or the reason why there is none."""
    reason = "it is not there"
    for source in (_of_debian, _of_uv):
        try:
            if header := next(source(store, version), None):
                return header.parent
        except LaneError as error:  # noqa: PERF203 - two sources
            reason = str(error).splitlines()[-1].strip()
    return reason


def _of_debian(store: Cache, version: str) -> Iterator[Path]:
    """Headers of the distribution itself: usually one minor version."""
    names = [f"libpython{each}-dev" for each in PYTHONS]
    release = Path("/etc/os-release")
    key = fingerprint(_RECIPE, release.read_bytes() if release.exists() else b"", *names)
    place = store.product(
        f"headers/debian-{key}", lambda folder: unpack_debian(folder, names, some=True)
    )
    return place.glob(f"usr/include/python{version}/Python.h")


def _of_uv(store: Cache, version: str) -> Iterator[Path]:
    """A whole Python, which uv fetches and holds against the hash that it knows."""

    def build(folder: Path) -> None:
        run(find_uv(), "python", "install", version, "--install-dir", folder, "--no-bin")

    name = f"headers/uv-{version}-{fingerprint(_RECIPE, version)}"
    place = store.product(name, build, f"fetching CPython {version} of uv, for its headers")
    return place.glob(f"cpython-{version}.*/include/python{version}/Python.h")


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


def find_uv() -> str:
    beside = Path(sys.executable).parent
    for folder in (beside, Path(sysconfig.get_path("scripts"))):
        if os.access(folder / "uv", os.X_OK):
            return str(folder / "uv")
    found = shutil.which("uv")
    if not found:
        raise LaneUnavailable("uv is missing: pip install uv")
    return found

"""The C headers of CPython: this machine's, those of its distribution, or those of a build for uv.

The embeddable distributions for Windows have none, and no package of an index carries any. They are
the same on every system but for pyconfig.h, of which the lane has a Windows one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

from winlane.cache import Cache, fingerprint
from winlane.errors import HeadersUnavailable, LaneError
from winlane.linux_pythons import linux_headers
from winlane.packages import find_uv
from winlane.resources import PYTHONS
from winlane.wine import run, unpack_what_debian_has

_RECIPE = "1"

Source: TypeAlias = Callable[[Cache, str], Iterator[Path]]  # of a minor version: its Python.h


def provide(store: Cache, version: str) -> Path:
    """A folder with the headers of a Linux CPython of that minor version.

    Raises:
        HeadersUnavailable: there are none here, and none can be fetched.
    """
    here = linux_headers(version)
    if here is not None:
        return here
    fetched = _fetched(store, version)
    if isinstance(fetched, str):
        tried = f"uv python install {version}; it said: {fetched}"
        raise HeadersUnavailable(
            f"no headers of CPython {version} here, and none to be had ({tried})"
        )
    return fetched


@cache  # a failed fetch is not repeated in every test
def _fetched(store: Cache, version: str) -> Path | str:
    """The folder, or the reason why there is none."""
    found: Path | str = "nothing"
    for source in (_of_debian, _of_uv):
        found = _from(source, store, version)
        if isinstance(found, Path):
            break
    return found


def _from(source: Source, store: Cache, version: str) -> Path | str:
    try:
        header = next(source(store, version), None)
    except LaneError as error:
        return str(error).splitlines()[-1].strip()
    return header.parent if header else "it is not there"


def _of_debian(store: Cache, version: str) -> Iterator[Path]:
    """Headers of the distribution itself: usually one minor version."""
    names = [f"libpython{each}-dev" for each in PYTHONS]
    release = Path("/etc/os-release")
    key = fingerprint(_RECIPE, release.read_bytes() if release.exists() else b"", *names)
    place = store.product(
        f"headers/debian-{key}", lambda folder: unpack_what_debian_has(folder, names)
    )
    return place.glob(f"usr/include/python{version}/Python.h")


def _of_uv(store: Cache, version: str) -> Iterator[Path]:
    """A whole Python, which uv fetches and holds against the hash that it knows."""

    def build(folder: Path) -> None:
        run(find_uv(), "python", "install", version, "--install-dir", folder, "--no-bin")

    name = f"headers/uv-{version}-{fingerprint(_RECIPE, version)}"
    place = store.product(name, build, f"fetching CPython {version} of uv, for its headers")
    return place.glob(f"cpython-{version}.*/include/python{version}/Python.h")

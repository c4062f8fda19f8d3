"""Triton package folders for tests of the patch: the real sources, without the rest."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import pytest
from winlane import wine
from winlane.cache import Cache
from winlane.errors import LaneError, LaneUnavailable
from winlane.pythons import Pythons
from winlane.upstream import Upstream

from tritonwin.patch.rules import FILES

_MORE = ("__init__.py", "windows_utils.py")


@functools.cache
def sources(version: str) -> Path:
    """The package folder of a release, "3.6.0" or "windows:3.6.0.post26"; skips without network."""
    upstream = Upstream(Cache.open())
    try:
        if version.startswith("windows:"):
            return upstream.fork(version.removeprefix("windows:")) / "triton"
        return upstream.sources(version) / "triton"
    except (LaneError, OSError) as error:
        pytest.skip(f"the sources of Triton {version} are not here: {error}")


@functools.cache
def mingw() -> tuple[wine.Wine, Path]:
    """The lane's tree with MinGW, and what a Windows Python 3.12 compiles with; skips without."""
    cache = Cache.open()
    try:
        tree = wine.provide(cache)
        return tree, Pythons(cache, tree).development("3.12")
    except LaneUnavailable as reason:
        pytest.skip(f"no MinGW or headers here: {reason}")


def make_tree(version: str, site: Path) -> Path:
    """A folder `triton` below `site` with the files that rules are about, to be changed."""
    source, package = sources(version), site / "triton"
    for name in (*_MORE, *FILES):
        if (source / name).exists():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, package / name)
    return package

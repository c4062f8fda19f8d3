"""Triton package folders for tests of the patch: the real sources, without the rest."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import pytest
from winlane.cache import Cache
from winlane.errors import LaneError
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


def make_tree(version: str, site: Path) -> Path:
    """A folder `triton` below `site` with the files that rules are about, to be changed."""
    source, package = sources(version), site / "triton"
    for name in (*_MORE, *FILES):
        if (source / name).exists():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, package / name)
    return package

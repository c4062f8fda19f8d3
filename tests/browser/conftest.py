"""A browser for all tests of pages, and a folder for their pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from browser import Browser
from winlane.errors import LaneUnavailable

REQUIRE_VARIABLE = "TRITONWIN_REQUIRE_BROWSER"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    try:
        tree = browser.provide()
    except LaneUnavailable as reason:
        if os.environ.get(REQUIRE_VARIABLE):
            pytest.fail(f"{REQUIRE_VARIABLE} is set, but: {reason}")
        pytest.skip(f"BROWSER SKIPPED: {reason}")
    with browser.started(tree) as ready:
        yield ready


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("TRITONWIN_PICTURES") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(exist_ok=True)
    return folder

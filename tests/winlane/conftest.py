"""Fixtures of the Windows lane: see tools/winlane."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from winlane import Lane, LaneUnavailable, Machine
from winlane.pythons import linux_headers
from winlane.resources import PYTHONS

REQUIRE_VARIABLE = "TRITONWIN_REQUIRE_LANE"


@pytest.fixture(scope="session")
def lane() -> Iterator[Lane]:
    try:
        ready = Lane.ready()
    except LaneUnavailable as reason:
        if os.environ.get(REQUIRE_VARIABLE):
            pytest.fail(f"the Windows lane is required ({REQUIRE_VARIABLE}) but not here: {reason}")
        pytest.skip(f"WINDOWS LANE SKIPPED: {reason}")
    with ready:
        yield ready


@pytest.fixture
def machine(lane: Lane) -> Iterator[Machine]:
    with Machine(lane) as ready:
        yield ready


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    headers = {version: linux_headers(version) for version in PYTHONS}
    compiling = [version for version, found in headers.items() if found]
    others = [version for version, found in headers.items() if not found]
    terminalreporter.section("Windows lane")
    terminalreporter.line(f"compile rungs ran for CPython {', '.join(compiling) or 'none'}")
    if others:
        terminalreporter.line(
            f"NOT for {', '.join(others)}: no Linux headers of it on this machine"
        )

"""Fixtures of the Windows lane: see tools/winlane."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from winlane import Lane, LaneUnavailable, Machine
from winlane.pythons import linux_headers
from winlane.resources import PYTHONS

REQUIRE_VARIABLE = "TRITONWIN_REQUIRE_LANE"
SKIPPED = "WINDOWS LANE SKIPPED"
HEADERS = {version: linux_headers(version) for version in PYTHONS}


@pytest.fixture(scope="session")
def lane() -> Iterator[Lane]:
    required = bool(os.environ.get(REQUIRE_VARIABLE))
    if required and not any(HEADERS.values()):
        pytest.fail("no Linux CPython headers of any of these: " + ", ".join(HEADERS))
    try:
        ready = Lane.ready()
    except LaneUnavailable as reason:
        if required:
            pytest.fail(f"{REQUIRE_VARIABLE} is set, but the Windows lane is not here: {reason}")
        pytest.skip(f"{SKIPPED}: {reason}")
    with ready:
        yield ready


@pytest.fixture
def machine(lane: Lane) -> Iterator[Machine]:
    with Machine(lane) as ready:
        yield ready


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("Windows lane")
    skipped = [
        str(report.longrepr[2])
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and SKIPPED in str(report.longrepr[2])
    ]
    if skipped:
        terminalreporter.line(f"{skipped[0]} ({len(skipped)} tests did not run)", red=True)
        return
    compiling = [version for version, found in HEADERS.items() if found]
    terminalreporter.line(f"compile rungs run for CPython {', '.join(compiling) or 'none'}")
    others = [version for version, found in HEADERS.items() if not found]
    if others:
        missing = ", ".join(others)
        terminalreporter.line(f"NOT for {missing}: no Linux headers of it on this machine")

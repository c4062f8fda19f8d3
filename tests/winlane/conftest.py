"""Fixtures of the Windows lane: see tools/winlane."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import build_pyz
import pytest
from winlane import HeadersUnavailable, Lane, LaneUnavailable, Machine

REQUIRE_VARIABLE = "TRITONWIN_REQUIRE_LANE"
SKIPPED = "WINDOWS LANE SKIPPED"
IN_PART = "WINDOWS LANE IN PART"


@contextmanager
def required(word: str, kind: type[LaneUnavailable]) -> Iterator[None]:
    """Tests that this machine cannot run are skipped, or fail where the lane is required."""
    try:
        yield
    except kind as reason:
        if os.environ.get(REQUIRE_VARIABLE):
            pytest.fail(f"{REQUIRE_VARIABLE} is set, and this cannot run: {reason}")
        pytest.skip(f"{word}: {reason}")


@pytest.fixture(scope="session")
def lane() -> Iterator[Lane]:
    with required(SKIPPED, LaneUnavailable):
        ready = Lane.ready()
    with ready:
        yield ready


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The single file as the script makes it, with its batch file beside it."""
    file = tmp_path_factory.mktemp("pyz") / "tritonwin.pyz"
    assert all(made.stat().st_size < 3_000_000 for made in build_pyz.build(file))
    return file


@pytest.fixture
def machine(lane: Lane) -> Iterator[Machine]:
    with Machine(lane) as ready:
        yield ready


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    with required(IN_PART, HeadersUnavailable):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    with required(IN_PART, HeadersUnavailable):
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("Windows lane")
    reasons = Counter(
        str(report.longrepr[2])
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    found = {text: n for text, n in reasons.items() if SKIPPED in text or IN_PART in text}
    for text, count in sorted(found.items()):
        terminalreporter.line(f"{text} ({count} tests did not run)", red=True)
    if not found:
        terminalreporter.line("nothing was left out for want of Wine or headers")

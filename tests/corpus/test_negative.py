"""Logs of real programs whose failures, if any, do not concern Triton.

Taken from pip, Python, npm, cargo, CMake, compilers, git and others on Linux, and, where the name
begins with win-, from Windows programs in the lane: healthy runs of triton-windows 3.1 to 3.8 and
failures of user code. Paths, user and host names are changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonwin.problems.explain import explain_file
from tritonwin.problems.records import Problem

LOGS = sorted((Path(__file__).parent / "negative").glob("*.log"))
HEALTHY = [log for log in LOGS if log.stem.startswith(("win-triton-3", "win-ptxas-success"))]
ALLOWED_LIKELY = 1


def alarms(log: Path) -> list[Problem]:
    return [p for p in explain_file(log).problems if p.severity != "info"]


@pytest.mark.parametrize("log", LOGS, ids=lambda p: p.stem)
def test_nothing_is_certain(log: Path) -> None:
    assert [p.id for p in alarms(log) if p.certainty == "certain"] == []


@pytest.mark.parametrize("log", HEALTHY, ids=lambda p: p.stem)
def test_a_healthy_run_gives_nothing_above_info(log: Path) -> None:
    assert alarms(log) == []


def test_hardly_anything_is_likely() -> None:
    likely = [(log.stem, p.id) for log in LOGS for p in alarms(log) if p.certainty == "likely"]
    assert len(likely) <= ALLOWED_LIKELY, likely

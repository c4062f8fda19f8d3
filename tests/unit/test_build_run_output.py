"""The messages of a build while it runs and when it has ended."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tritonwin.build.records import GIB, BuildOutcome, BuildRun, Progress, ProofStep, WheelProof
from tritonwin.output import building, terminal
from tritonwin.output.building import duration, progress
from tritonwin.output.terminal import Meter
from tritonwin.problems.records import Evidence

HALF = Progress(done=12, total=73, remaining=1740)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (1740, "29 min"),
        (3599, "1 h 00 min"),
        (11100, "3 h 05 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_line_of_progress() -> None:
    assert progress(HALF) == "12/73 files, 29 min left"
    assert progress(Progress(done=0, total=None)) == "0/? files"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    out = io.StringIO()
    console = Console(file=out, width=1000, color_system=None)
    monkeypatch.setattr(terminal, "console", lambda: console)
    return out


def test_a_line_a_minute_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, printed: io.StringIO
) -> None:
    now = 7.0  # seconds since the machine was started
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now)
    meter = Meter()
    building.follow(meter, "out of memory\x1b[2J")
    assert printed.getvalue() == "  out of memory\\x1b[2J\n"
    said = []
    for at in (7, 36, 66, 67, 120, 127):
        now = at
        before = printed.tell()
        building.follow(meter, HALF)
        said += [at] if printed.tell() > before else []
    assert said == [67, 127]


RUNS = (BuildRun(jobs=4, ending="finished", seconds=60, peak_memory=2 * GIB, steps=73),)


def test_a_proven_wheel_can_be_installed(printed: io.StringIO) -> None:
    wheel = Path("dist", "flash_attn-2.8.3+cu130torch2.11-cp312-cp312-win_amd64.whl")
    proof = WheelProof(steps=(ProofStep(name="import x", state="passed", detail=""),))
    terminal.show(
        *building.of_outcome(BuildOutcome(runs=RUNS, log="l", wheel=str(wheel), proof=proof))
    )
    assert 'install: tritonwin install flash-attn --find-links "dist"' in printed.getvalue()
    assert "built in 60 s, 2.0 GiB at the peak\n" in printed.getvalue()


FAILED = ProofStep(name="architectures", state="failed", detail="holds 8.0, but 9.0 was planned")
PASSED = ProofStep(name="import x", state="passed", detail="0.1 s")
SUSPICIOUS = Evidence(text="kernel.cu(1): error: no such thing", where="line 2")


@pytest.mark.parametrize(
    ("ended", "parts"),
    [
        (
            {"wheel": "x.whl", "proof": WheelProof(steps=(PASSED, FAILED))},
            ("ok       import x", "FAILED   architectures  (holds 8.0", "60 s", "2.0 GiB", "x.whl", "not proven"),
        ),
        (
            {"suspicious": (SUSPICIOUS,)},
            ("The build failed", "line 2: kernel.cu(1)", "log: build.log", "73 files are compiled", "--resume"),
        ),
    ],
)  # fmt: skip
def test_the_last_word_of_a_build_that_is_not_proven(
    ended: dict[str, Any], parts: tuple[str, ...], printed: io.StringIO
) -> None:
    outcome = BuildOutcome(runs=RUNS, log="build.log", **ended)
    assert not outcome.proven
    terminal.show(*building.of_outcome(outcome))
    assert [part for part in parts if part not in printed.getvalue()] == []

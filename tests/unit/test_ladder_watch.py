"""Rungs while they are tried, and one that finds no end."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import healthy
import pytest
from pace import PATIENCE, gone, wait_for
from rich.console import Console
from trees import write

import tritonwin
from tritonwin.output import proof
from tritonwin.output import terminal as output_terminal
from tritonwin.verify import ladder, records
from tritonwin.verify.records import RungResult
from tritonwin.verify.setting import ProofSetting

STUCK = "import time; time.sleep(600)"
IMPORTED = records.select(only=["import-triton"])


def stuck(tmp_path: Path) -> ProofSetting:
    write(tmp_path, {"triton/__init__.py": STUCK})
    return ProofSetting(
        facts=healthy.changed(),
        python=sys.executable,
        environment={**os.environ, "PYTHONPATH": str(tmp_path)},
        compiler=None,
        arch=89,
        driver=False,
    )


def waited_for(file: Path, process: subprocess.Popen[bytes]) -> list[int]:
    """The numbers of the processes that a rung wrote down."""

    def written() -> bool:
        assert process.poll() is None
        return file.is_file() and file.read_text().endswith(" ")

    wait_for(written)
    return [int(number) for number in file.read_text().split()]


def test_a_rung_has_a_limit_of_its_own_and_the_users_goes_before_it(tmp_path: Path) -> None:
    setting, limited = stuck(tmp_path), [replace(IMPORTED[0], limit=1.5)]
    for timeout, shown in ((None, "1.5"), (1, "1")):
        result = ladder.prove(replace(setting, timeout=timeout), limited).results[0]
        assert (result.state, result.detail) == ("timed-out", f"no end within {shown} s")


@pytest.mark.skipif(os.name == "nt", reason="reads /proc")
def test_a_rung_ends_when_whoever_started_it_was_killed(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    starts = (
        "import os, subprocess, sys, time\n"
        "assert sys.stdin.read() == ''\n"
        f"child = subprocess.Popen([sys.executable, '-c', {STUCK!r}])\n"
        f"open({str(numbers)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}} ')\n"
        "time.sleep(600)\n"
    )
    write(tmp_path, {"triton/__init__.py": starts})
    words = ["verify", "--python", sys.executable, "--only", "import-triton"]
    path = os.pathsep.join([str(tmp_path), str(Path(tritonwin.__file__).parents[1])])
    process = subprocess.Popen(
        [sys.executable, "-m", "tritonwin", *words],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started = waited_for(numbers, process)
    process.kill()
    process.wait(PATIENCE)
    wait_for(lambda: all(map(gone, started)))


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_what_is_tried(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=200, legacy_windows=False)
    for module in (proof, output_terminal):
        monkeypatch.setattr(module, "console", lambda: console)

    def results() -> Iterator[RungResult]:
        wait_for(lambda: "0 of 1, now: Triton is imported" in screen.getvalue() or not terminal)
        yield RungResult(id="x", title="seen at last", state="passed", detail="", seconds=0)

    assert proof.print_climb(healthy.changed(), results(), IMPORTED, ladder=1).holds
    shown = screen.getvalue()
    assert ("now: Triton" in shown) is terminal
    assert ("\x1b" in shown) is terminal
    assert ("ok       1: x" if terminal else "seen at last") in shown

"""The journal on real Windows: loaded DLLs, read-only and open files, the registry, kills."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from winlane import Machine

PROGRAM = Path(__file__).parent / "programs" / "journal_cases.py"


def case(machine: Machine, name: str, *more: str, timeout: float = 120) -> Any:
    """Run a case in the lane's own Windows Python, which finds the checkout's sources."""
    machine.registry.set(r"HKCU\Environment", "CUDA_PATH", r"%ProgramFiles%\CUDA", "REG_EXPAND_SZ")
    machine.registry.protect(r"HKCU\Environment")
    machine.registry.protect(r"HKCU\Software\TritonwinLane")
    (python, *_), variables = machine.lane.command()
    program = machine.drives.windows(PROGRAM)
    words = [python, "-B", program, name, rf"C:\journal-{name}", *more]
    done = machine.start(subprocess.list2cmdline(words), env=variables, timeout=timeout).check()
    return json.loads(done.stdout.splitlines()[-1])


def test_changes_and_what_holds_them_up(machine: Machine) -> None:
    found = case(machine, "all")
    assert found["round_trip"] == {
        "changed": True, "read_only": True, "values": True, "left": [], "same": True,
    }  # fmt: skip
    assert found["loaded"] == {"replaced": True, "left": 1, "same": True, "swept": True}
    in_use = found["in_use"]
    assert "msvcp140.dll" in in_use["said"][0]
    assert in_use["said"][1].startswith("Close the programs that use it")
    assert (in_use["same"], in_use["states"]) == (True, ["undone"])
    busy = found["two_at_once"]
    assert busy["said"].startswith("another tritonwin (process ")
    assert busy["named"]


def test_killed_at_some_points(machine: Machine) -> None:
    found = case(machine, "killed", "17", timeout=300)
    assert found["same"]
    assert found["kills"] >= 6


@pytest.mark.full
def test_killed_at_every_point(machine: Machine) -> None:
    found = case(machine, "killed", "1", timeout=3000)
    assert found["same"]
    assert found["kills"] >= found["points"]

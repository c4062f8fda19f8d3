"""The patch on real Windows: a Triton that a program has loaded, read-only files, kills."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from winlane import Machine
from winlane.tool import module_command
from winlane.upstream import Upstream

PROGRAM = Path(__file__).parent / "programs" / "patch_cases.py"


def case(machine: Machine, name: str, *more: str, timeout: float = 240) -> Any:
    """Run a case in the lane's own Windows Python, which finds the checkout's sources."""
    sources = Upstream(machine.lane.cache).sources("3.6.0") / "triton"
    (python, *_), variables = module_command(machine.lane, "tritonwin", ())
    words = [python, "-B", machine.drives.windows(PROGRAM), name, machine.drives.windows(sources)]
    command = subprocess.list2cmdline([*words, rf"C:\patch {name}", *more])
    done = machine.start(command, env=variables, timeout=timeout).check()
    return json.loads(done.stdout.splitlines()[-1])


def test_a_triton_that_is_in_use(machine: Machine) -> None:
    """Its library is locked; its folder has letters of another script and a blank."""
    assert case(machine, "in_use") == {
        "needed": 0, "line_ends": True, "read_only": True, "refused": False, "same": True,
    }  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("every", "least"), [("17", 3), ("1", 30)])
def test_killed(machine: Machine, every: str, least: int) -> None:
    found = case(machine, "killed", every, timeout=3000)
    assert found["same"], found
    assert found["kills"] >= least

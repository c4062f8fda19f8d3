"""The patch on real Windows: a Triton that a program has loaded, read-only files, kills."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import overlay
import pytest
from test_patch import sources
from winlane import Machine
from winlane.upstream import Upstream

PROGRAM = Path(__file__).parent / "programs" / "patch_cases.py"


def case(machine: Machine, name: str, *more: str, timeout: float = 240) -> Any:
    """Run a case in the lane's own Windows Python, which finds the checkout's sources."""
    sources = Upstream(machine.lane.cache).sources("3.6.0") / "triton"
    (python, *_), variables = machine.lane.command()
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


@pytest.mark.full
def test_fix_patches_what_doctor_finds_unpatched(machine: Machine) -> None:
    """Upstream's files copied over triton-windows: found, patched, proven, and given back."""
    version = overlay.VERSIONS["3.6.0"]
    made = overlay.fork(machine, version)
    upstream = overlay.upstream_site(machine.lane, version.upstream) / "triton"
    for path in upstream.rglob("*.*"):
        if path.is_file():
            there = made.site_packages / "triton" / path.relative_to(upstream)
            made.replace(there, path.read_bytes())
    before = sources(made)
    done = machine.tool("fix", "--offline", "--yes", "--json", "--python", made.python, timeout=600)
    report = json.loads(done.stdout)
    changes = [change["action"] for plan in report["plans"] for change in plan["changes"]]
    assert "patch" in changes, report
    assert report["status"] == "proven", report
    for journal in reversed(report["journals"]):
        machine.tool("undo", journal, "--yes", timeout=300).check()
    assert sources(made) == before

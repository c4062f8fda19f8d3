"""AMD's cards in real Windows Pythons: doctor, fix, undo and verify.

Real: Windows CPython, triton-windows and its compiler for AMD, tritonwin's command line in Windows.
Stand-ins: AMD's driver (amdhip64_7.dll and _6, which run no kernel), torch and ROCm's wheels, which
cannot be had here, and Visual Studio.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import AMD, CARD, Fault, each, prepare, usual
from repairs import Repair
from test_doctor import doctor
from test_verify import only, verify
from winlane import Environment, Lane, Machine, standins
from winlane.resources import WHEELS

HEALTHY = ("gfx1100", "gfx1030", "gfx1103", "gfx1151", "gfx1201")
CHIPS = ("gfx1030", "gfx1036", "gfx1100", "gfx1101", "gfx1103", "gfx1150", "gfx1151", "gfx1200",
         "gfx1201")  # fmt: skip


@pytest.mark.parametrize("architecture", usual(HEALTHY, "gfx1100"))
def test_a_healthy_machine_is_left_alone(machine: Machine, architecture: str) -> None:
    document = doctor(prepare(machine, Fault(chip=architecture, triton="triton-3.7")))
    assert [p["id"] for p in document["problems"] if p["severity"] != "info"] == []
    assert [c for c in document["checks"] if c["state"] == "crashed"] == []


@pytest.mark.parametrize("fault", [each(f, quick="TinyCC" in f.names) for f in AMD if f.fixed])
def test_repairs_proves_and_undoes(
    lane: Lane, machine: Machine, tmp_path: Path, fault: Fault, desktop: None
) -> None:
    standins.rocm_torch_wheels(tmp_path, "3.12", "gfx1100")
    repair = Repair.prepared(lane, machine, fault, tmp_path, real=("triton-3.7", "pip"))
    report = repair.fix("--yes")
    states = {rung["id"]: rung["state"] for rung in report["proof"]}
    left = [plan["unsolved"] for plan in report["plans"]]
    assert report["status"] == "proven", (left, report["problems"], report["proof"])
    assert {states[name] for name in ("import-triton", "compile-hsaco", "amd-helper")} == {"passed"}
    planned = {p for plan in report["plans"] for c in plan["changes"] for p in c["problems"]}
    assert fault.problem in planned
    # what the stand-in of clang-cl wrote down of its starts
    for log in (repair.seed.env.site_packages / "_rocm_sdk_core").rglob("*.log"):
        log.unlink()
    repair.undo(report["journals"])


@pytest.fixture
def desktop(machine: Machine) -> Iterator[None]:
    """A desktop that stays: when one begins, Wine puts its own adapter in place of all others.

    A change of a variable is announced to all windows, which begins one.
    """
    display = r"HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
    machine.registry.protect(display)
    machine.registry.delete(display + r"\0000")
    begin = "import ctypes, time; ctypes.windll.user32.GetDesktopWindow(); time.sleep(900)"
    words = [machine.lane.tool.python, "-c", begin]
    with machine.begin(subprocess.list2cmdline(words)):
        limit = time.monotonic() + 60
        while not machine.registry.read(display + r"\0000") and time.monotonic() < limit:
            time.sleep(0.5)
        yield


def launched(env: Environment, log: str) -> list[str]:
    lines = [json.loads(line) for line in env.path(log).read_text().splitlines()]
    assert not [line for line in lines if line["event"] == "wrong"]
    return [line["kernel"] for line in lines if line["event"] == "launch"]


@pytest.mark.parametrize("library", usual(["amdhip64_7.dll", "amdhip64_6.dll"], "amdhip64_7.dll"))
def test_the_ladder_on_a_card(machine: Machine, library: str) -> None:
    """No torch of NVIDIA's, no compiler: the driver runs in Python. No number is claimed."""
    seed = prepare(machine, Fault(chip="gfx1100", triton="triton-3.7"))
    machine.radeon(CARD, library=library)
    machine.variables["FAKEHIP_LOG"] = r"C:\hip.log"
    machine.tool("driver", "on", "--python", seed.env.python, timeout=240).check()
    rungs = verify(
        machine,
        seed.env,
        *only("import-triton", "compile-hsaco", "amd-helper", "amd-launch", "vector-add"),
    )
    untried = rungs.pop("vector-add")
    assert untried["state"] == "not-applicable"
    assert "it was not tried on AMD Radeon RX 7900 XTX" in untried["detail"]
    assert {name: r["detail"] for name, r in rungs.items() if r["state"] != "passed"} == {}
    assert rungs["amd-launch"]["figures"]["numbers"] == "not checked"
    assert launched(seed.env, r"C:\hip.log") == ["add"]


@pytest.mark.parametrize("architecture", usual(CHIPS, "gfx1201"))
def test_code_objects_for_nine_chips(machine: Machine, architecture: str) -> None:
    env = machine.environment("3.12", "comfyui", [WHEELS["triton-3.8"]])
    rungs = verify(machine, env, *only("import-triton", "compile-hsaco"), "--chip", architecture)
    assert {name: r["detail"] for name, r in rungs.items() if r["state"] != "passed"} == {}
    assert rungs["compile-hsaco"]["figures"]["chip"] == architecture

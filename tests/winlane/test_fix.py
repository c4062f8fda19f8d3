"""`fix` in real Windows Pythons: faults repaired with real pip and real wheels, proven, undone.

The package index is a folder of wheels on the local disk. Each repair is proven by the rungs of
`verify`: a C module compiled with the bundled TinyCC, a kernel compiled to a cubin by the real
Triton, its helper module built and loaded. Then `undo` must leave the identical files and registry.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from faults import FAULTS, Fault
from repairs import Repair
from trees import describe_tree
from winlane import Lane, Machine, standins

RUNGS = ("headers-and-library", "import-triton", "compile-cubin", "helper-module")

FIXED = tuple(fault for fault in FAULTS if fault.fixed)
PLANTED = ("pip", "python", "uv", "cmd", "tcc", "gcc", "cl", "ptxas", "nvidia-smi", "vswhere")


def assert_proven(report: dict[str, Any], *problems: str) -> None:
    states = {rung["id"]: (rung["state"], rung["detail"]) for rung in report["proof"]}
    assert {name: s for name, (s, _) in states.items()} == dict.fromkeys(RUNGS, "passed"), states
    assert report["status"] == "proven"
    planned = {p for plan in report["plans"] for c in plan["changes"] for p in c["problems"]}
    assert set(problems) <= planned
    errors = [p["id"] for p in report["problems"] if p["severity"] == "error"]
    assert errors == []


def stand_in_wheels(folder: Path, machine: Machine) -> None:
    """Packages for CUDA, which do not run under Wine or have a gigabyte of dependencies."""
    standins.cuda_torch_wheel(folder, "3.12", machine.fakes, "2.9.1", "13.0")
    library = machine.fakes.build_dll("libbitsandbytes_cuda130.dll").read_bytes()
    standins.wheel(
        folder, "3.12", "bitsandbytes", "0.50.2", tag="py3-none-win_amd64",
        files={"bitsandbytes/libbitsandbytes_cuda130.dll": library, "bitsandbytes/__init__.py": ""},
    )  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("fault", FIXED, ids=lambda fault: fault.name)
def test_repairs_proves_and_undoes(
    lane: Lane, machine: Machine, tmp_path: Path, fault: Fault
) -> None:
    stand_in_wheels(tmp_path, machine)
    repair = Repair.prepared(lane, machine, fault, tmp_path)
    report = repair.fix("--yes")
    assert_proven(report, fault.problem)
    repair.undo(report["journals"])


def test_one_command_from_a_bare_python(lane: Lane, machine: Machine) -> None:
    """No pip, no Triton, no headers, and a `._pth` that hides site-packages.

    Programs planted in the current folder are not started.
    """
    repair = Repair.prepared(lane, machine, Fault(kind="bare", triton=""))
    repair.seed.cwd = "C:\\planted"
    for name in PLANTED:
        machine.place(rf"C:\planted\{name}.exe", machine.fakes.tool())
    before = describe_tree(repair.seed.env.root)
    planned = repair.fix("--dry-run")
    assert describe_tree(repair.seed.env.root) == before
    report = repair.fix("--yes")
    assert report["plans"][0]["changes"] == planned["plans"][0]["changes"]
    assert_proven(report, "triton-missing")
    assert not (repair.seed.env.site_packages / "pip").exists()
    assert repair.fix("--yes")["status"] == "healthy"
    # a program that stands in for a tool writes a log when it is started
    assert [p.name for p in repair.seed.env.path(r"C:\planted").glob("*.log")] == []
    repair.undo(report["journals"])


def test_several_faults_at_once(lane: Lane, machine: Machine) -> None:
    """Of five layers."""
    names = {
        "python-headers-wrong-set: pyconfig.h",
        "cc-variable-wrong: folder",
        "stale-helper-module: python310.dll",
        "triton-and-fork-both-installed: triton 3.8.0",
        r"script-shadows-triton: C:\work\triton.py",
    }
    faults = [fault for fault in FIXED if fault.name in names]
    assert len(faults) == len(names)
    repair = Repair.prepared(lane, machine, Fault(), seeds=[fault.seed for fault in faults])
    report = repair.fix("--yes")
    assert_proven(report, *(fault.problem for fault in faults))
    repair.undo(report["journals"])


def test_run_captures_visual_studio_and_changes_nothing(machine: Machine) -> None:
    env = machine.environment("3.12", "full")
    machine.visual_studio()
    machine.windows_sdk()
    machine.variables.update(CC="C:\\windows", VSCMD_ARG_TGT_ARCH="x86")
    before = describe_tree(env.root)
    code = (
        "import json, os; print(json.dumps({'cwd': os.getcwd(), **{n: os.environ.get(n) for n in "
        "('INCLUDE', 'CC', 'VSCMD_ARG_TGT_ARCH', 'TRITON_CACHE_DIR')}})); raise SystemExit(7)"
    )
    planted = r"C:\planted"
    for name in (*PLANTED, "chcp", "where", "reg", "powershell"):
        machine.place(rf"{planted}\{name}.exe", machine.fakes.tool())
    done = machine.tool("run", "--python", env.python, "--", "-B", "-c", code, cwd=planted)
    assert done.returncode == 7, done.stderr
    seen = json.loads(done.stdout)
    assert "ucrt" in seen["INCLUDE"]
    assert seen["VSCMD_ARG_TGT_ARCH"] == "x64"
    assert describe_tree(env.root) == before
    machine.place(r"C:\app\main.py", code)
    machine.tool(
        "run", "--python", env.python, "--write-bat", r"C:\app\start.bat", "--", r"C:\app\main.py",
        cwd="C:\\",
    ).check()  # fmt: skip
    started = machine.wine("cmd", "/d", "/c", r"C:\app\start.bat", cwd=planted)
    assert started.returncode == 7, started.stdout + started.stderr
    assert json.loads(started.stdout) == seen
    assert seen["cwd"] == planted
    assert list(machine.drives.linux(planted).glob("*.log")) == []

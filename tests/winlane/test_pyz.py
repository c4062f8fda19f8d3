"""The single file in bare embedded Windows Pythons: no pip, no site-packages of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from faults import usual
from trees import tree_hash
from winlane import Environment, Lane, Machine, standins
from winlane.resources import PYTHONS

PLACE = r"C:\Program Files\tritonwin für alle\tritonwin.pyz"
SHARED = r"C:\tritonwin home"  # where every user of the machine may write


@pytest.fixture
def placed(machine: Machine, pyz: Path) -> str:
    machine.home("jörg")
    machine.gpu()
    machine.place(PLACE, pyz)
    return PLACE


@pytest.mark.parametrize("version", usual(PYTHONS, min(PYTHONS), max(PYTHONS)))
def test_every_embedded_python_runs_it(machine: Machine, placed: str, version: str) -> None:
    env = machine.environment(version, "bare")
    before = tree_hash(env.root)
    first = env.run(placed, "doctor", "--json", cwd="C:\\", timeout=120)
    assert first.stderr == ""
    assert "triton-missing" in [p["id"] for p in json.loads(first.stdout)["problems"]]
    assert json.loads(first.stdout)["target"]["executable"].lower() == env.python.lower()
    copies = env.path(machine.variables["LOCALAPPDATA"]) / "tritonwin" / "app"
    assert len(list(copies.iterdir())) == 1
    machine.variables["TRITONWIN_HOME"] = SHARED  # then it runs from memory
    again = env.run(placed, "doctor", "--json", cwd="C:\\", timeout=120)
    assert again.stderr == ""
    assert json.loads(again.stdout)["problems"] == json.loads(first.stdout)["problems"]
    assert not env.path(SHARED).joinpath("app").exists()
    assert tree_hash(env.root) == before


def answer(env: Environment, *args: str, codes: tuple[int, ...] = (0,)) -> str:
    done = env.run(PLACE, *args, cwd="C:\\", timeout=300)
    assert done.returncode in codes, (args, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr  # a rung shows that of the target, on stdout
    return done.stdout


@pytest.mark.full
def test_every_command_that_needs_no_compiler(lane: Lane, machine: Machine, placed: str) -> None:
    machine.register_python(machine.environment("3.12", "full"))
    env = machine.environment("3.12", "bare")
    standins.cuda_torch(env, machine.fakes, "2.14.1", "13.0")
    wheels = lane.wheels("3.12", ("triton-3.8", "pip"))
    before = tree_hash(env.root)
    machine.place(r"C:\logs\a.log", "ModuleNotFoundError: No module named 'triton'\n")
    for args in (
        ("--version",), ("--help",), ("matrix",), ("cache", "list"), ("undo", "--list"),
        ("explain", r"C:\logs\a.log"), ("doctor",), ("snapshot", "-o", r"C:\logs\s.json"),
        ("doctor", "--snapshot", r"C:\logs\s.json"), ("demo",), ("verify", "--through", "import-triton"),
        ("install", "triton-windows", "--offline", "--find-links", wheels, "--dry-run"),
        ("run", "--", "-c", "print(1)"),
    ):  # fmt: skip
        assert answer(env, *args, codes=(0, 1)), args
    assert tree_hash(env.root) == before
    fixed = answer(env, "fix", "--offline", "--yes", "--json", "--find-links", wheels, codes=(0, 1))
    assert json.loads(fixed)["status"] == "proven", fixed
    shown = json.loads(answer(env, "patch", "status", "--json"))
    assert shown["rules"]
    answer(env, "patch", "apply", "--json")
    answer(env, "patch", "revert", "--json")
    answer(env, "undo", "--yes")
    assert tree_hash(env.root) == before

"""An environment that uv itself made: no pip in it, launchers and a pyvenv.cfg of uv's."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from trees import describe_tree
from winlane import Lane, Machine, standins
from winlane.environment import Environment
from winlane.fakes import Mingw
from winlane.kinds import VENV_LAUNCHER
from winlane.resources import HERE

PROJECT = r"C:\my project"
UV = "uv==0.13.9"


def uv_program(lane: Lane, machine: Machine) -> str:
    """uv's own Windows program, and what Wine lacks for it beside it."""
    mingw = Mingw(lane.cache, lane.wine)
    (wheel,) = machine.drives.linux(lane.wheels("3.12", [UV])).glob("uv-*.whl")
    with zipfile.ZipFile(wheel) as files:
        name = next(n for n in files.namelist() if n.endswith("/uv.exe"))
        machine.place(r"C:\uv\uv.exe", files.read(name))
    random = HERE / "native" / "bcryptprimitives.c"
    machine.place(r"C:\uv\bcryptprimitives.dll", mingw.dll(random, "bcryptprimitives.dll"))
    return r"C:\uv\uv.exe"


def uv_environment(lane: Lane, machine: Machine) -> Environment:
    """`uv venv` in the project's folder, run by uv's own Windows program."""
    mingw = Mingw(lane.cache, lane.wine)
    uv = uv_program(lane, machine)
    base = machine.environment("3.12", "full")
    # what a full installation has there, and uv copies
    for program in ("python.exe", "pythonw.exe"):
        launcher = mingw.program(VENV_LAUNCHER, "python.exe")
        machine.place(rf"{base.win(base.home)}\Lib\venv\scripts\nt\{program}", launcher)
    machine.wine(
        uv, "venv", "--offline", "--no-config", "--python", base.python,
        rf"{PROJECT}\.venv", cwd=r"C:\uv",
    ).check()  # fmt: skip
    root = machine.drives.linux(rf"{PROJECT}\.venv")
    site_packages = root / "Lib" / "site-packages"
    return Environment("3.12", "venv", root, root / "Scripts", site_packages, machine, base)


@pytest.mark.full
def test_an_environment_of_uv_is_put_right_and_given_back(lane: Lane, machine: Machine) -> None:
    env = uv_environment(lane, machine)
    machine.gpu()
    standins.cuda_torch(env, machine.fakes, "2.14.1", "13.0")
    before = describe_tree(env.root)
    folder = machine.drives.linux(PROJECT)
    found = json.loads(machine.tool("doctor", "--json", cwd=folder).stdout)
    (missing,) = (p for p in found["problems"] if p["id"] == "triton-missing")
    (command,) = missing["remedy"]["commands"]
    assert command.startswith(f'uv pip install --python "{env.python}" -U "triton-windows')
    # what uv's own variables and pip's say of where to install does not count
    machine.variables.update(PIP_USER="1", PIP_TARGET=r"C:\elsewhere", PIP_REQUIRE_VIRTUALENV="1")
    wheels = lane.wheels("3.12", ["triton-3.8", "pip"])
    done = machine.tool(
        "fix", "--yes", "--offline", "--json", "--find-links", wheels, cwd=folder, timeout=600
    )
    report = json.loads(done.stdout)
    assert report["status"] == "proven", report
    assert not Path(machine.drives.linux(r"C:\elsewhere")).exists()
    assert not (env.site_packages / "pip").exists()
    machine.tool("undo", "--yes", cwd=folder, timeout=300).check()
    assert describe_tree(env.root) == before

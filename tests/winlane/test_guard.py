"""The guard of a proven set against the installations that replace torch on users' machines."""

from __future__ import annotations

import json

import pytest
from test_uv import uv_program
from trees import tree_hash
from winlane import Lane, Machine, standins
from winlane.environment import Environment

HOSTILE = r"C:\hostile wheels"
NODE = r"C:\node\requirements.txt"
PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--find-links", HOSTILE)
# words of `pip install`, and what it says; status 0 only where the kept torch is already there
INSTALLATIONS = {
    ("torch==2.5.1",): "to.allow.others.run.tritonwin.guard.off",
    ("-U", "torch"): "already satisfied",
    ("-r", NODE): "conflict",
    ("--force-reinstall", "torch"): "conflict",
    ("--no-deps", "torch==2.5.1"): "conflict",
    ("a-node",): "conflict",
    ("--isolated", "torch==2.5.1"): "conflict",
}


def torch_of(env: Environment) -> list[str]:
    return sorted(found.name for found in env.site_packages.glob("torch-*.dist-info"))


@pytest.mark.full
def test_what_replaces_torch_is_refused(lane: Lane, machine: Machine) -> None:
    """ComfyUI portable in a folder with a blank: proven by fix, guarded, attacked, undone."""
    env = machine.environment("3.12", "comfyui", ["pip"], where=r"C:\my apps")
    machine.gpu()
    machine.register_python(machine.environment("3.12", "full"))
    standins.cuda_torch(env, machine.fakes, "2.14.1", "13.0")
    for name in ("filelock", "typing-extensions", "setuptools", "sympy"):
        standins.distribution(env, name, "99.0")
    app, target = env.home.parent, ("--python", env.python)
    (app / "ComfyUI" / "user" / "__manager").mkdir(parents=True)
    node = app / "ComfyUI" / "custom_nodes" / "node"
    node.mkdir(parents=True)
    wheels = lane.wheels("3.12", ("triton-3.8", "pip"))
    assert "was not proven yet" in machine.tool("guard", "on", *target).stderr
    fixed = machine.tool(
        "fix", "--offline", "--yes", "--find-links", wheels, *target, timeout=600
    ).check()
    assert "tritonwin guard on --python" in fixed.stdout
    before = tree_hash(app)
    machine.tool("guard", "on", *target).check()

    folder = machine.place(HOSTILE, None)
    for version in ("2.5.1", "2.99.0"):
        code = {"torch/__init__.py": f"__version__ = '{version}'\n"}
        standins.wheel(folder, "3.12", "torch", version, files=code)
    standins.wheel(folder, "3.12", "a-node", "1.0", requires=("torch==2.5.1",), files={"n.py": ""})
    machine.place(NODE, "a-node\ntorch>=2.0,<2.6\n")
    for words, says in INSTALLATIONS.items():
        done = env.run(*PIP, *words, cwd="C:\\")
        assert (done.returncode == 0) == (says == "already satisfied"), (words, done)
        assert says in done.stdout + done.stderr
        assert torch_of(env) == ["torch-2.14.1+cu130.dist-info"]
    uv = uv_program(lane, machine)
    words = ("pip", "install", "--offline", "--no-index", "--find-links", HOSTILE, *target)
    kept = json.loads(machine.tool("guard", "status", "--json", *target).check().stdout)
    # as ComfyUI-Manager starts it; elsewhere it has to be told
    for cwd, told in ((env.win(node), {}), (r"C:\uv", {"UV_CONSTRAINT": kept["uv"]})):
        done = machine.wine(uv, *words, "torch==2.5.1", cwd=cwd, env=told)
        assert (done.returncode, "unsatisfiable" in done.stderr) == (1, True), done
        assert torch_of(env) == ["torch-2.14.1+cu130.dist-info"]

    machine.tool("guard", "off", *target).check()
    assert tree_hash(app) == before
    machine.tool("guard", "on", *target).check()
    # what gets through: uv that was not told, and pip that is told something else
    through = machine.wine(uv, *words, "torch==2.5.1", cwd=r"C:\uv").check()
    assert torch_of(env) == ["torch-2.5.1.dist-info"], through
    machine.place(r"C:\other.txt", "")
    env.run(*PIP, "torch==2.99.0", env={"PIP_CONSTRAINT": r"C:\other.txt"}, cwd="C:\\").check()
    assert torch_of(env) == ["torch-2.99.0.dist-info"]
    shown = machine.tool("guard", "status", *target)
    assert (shown.returncode, "now 2.99.0" in shown.stdout) == (1, True)
    found = json.loads(machine.tool("doctor", "--json", *target).stdout)
    (drifted,) = (p for p in found["problems"] if p["id"] == "environment-drifted")
    assert "tritonwin guard on" in drifted["remedy"]["summary"]

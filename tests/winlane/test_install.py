"""`tritonwin install` with no option named, in each kind of Windows Python, against the oracle.

The server speaks as GitHub's and the hub's API, torch's index and a package index; the names on it
are those of the real lists. GPU and torch are the lane's stand-ins.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from list_server import ListServer, list_server
from oracle import Pc
from public_lists import PACKAGES, as_toml, expected, serve
from test_uv import uv_environment
from trees import tree_hash
from winlane import Environment, Lane, Machine, standins

KINDS = {
    "comfyui": Pc("3.12", "2.9.1", "13.0", "12.0"),
    "venv": Pc("3.11", "2.8.0", "12.8", "8.9"),
    "conda": Pc("3.13", "2.10.0", "13.0", "8.6"),
    "uv": Pc("3.12", "2.7.1", "12.8", "8.9"),
}
# for each Python of each kind, two PCs: Python, then torch, CUDA and GPU
MANY = {
    ("comfyui", "3.10"): (("2.6.0", "12.4", "8.6"), ("2.8.0", "12.8", "12.0")),
    ("comfyui", "3.11"): (("2.9.1", "13.0", "8.9"), ("2.7.1", "12.6", "7.5")),
    ("comfyui", "3.12"): (("2.10.0", "12.8", "8.6"), ("2.13.0", "13.0", "12.0")),
    ("comfyui", "3.13"): (("2.14.1", "13.0", "8.9"), ("2.11.0", "12.8", "8.6")),
    ("venv", "3.10"): (("2.9.1", "12.6", "8.9"), ("2.12.0", "13.0", "12.0")),
    ("venv", "3.11"): (("2.10.0", "13.0", "12.0"), ("2.6.0", "12.4", "12.0")),
    ("venv", "3.12"): (("2.8.0", "12.6", "8.9"), ("2.9.1", "12.8", "7.5")),
    ("venv", "3.13"): (("2.12.0", "13.0", "8.6"), ("2.7.1", "12.8", "12.0")),
    ("conda", "3.10"): (("2.7.1", "12.8", "8.9"), ("2.11.0", "13.0", "8.6")),
    ("conda", "3.11"): (("2.13.0", "13.0", "8.9"), ("2.8.0", "12.8", "7.5")),
    ("conda", "3.12"): (("2.14.1", "12.8", "12.0"), ("2.9.1", "13.0", "8.9")),
    ("conda", "3.13"): (("2.6.0", "12.6", "8.9"), ("2.10.0", "12.8", "12.0")),
    ("uv", "3.12"): (("2.11.0", "13.0", "12.0"), ("2.8.0", "12.8", "8.6")),
}


@pytest.fixture
def server(machine: Machine, tmp_path: Path) -> Iterator[ListServer]:
    with list_server() as server:
        index, table = serve(server, tmp_path)
        machine.place(r"C:\lists.toml", as_toml(table))
        machine.variables.update(
            TRITONWIN_LISTS=r"C:\lists.toml",
            TRITONWIN_HOME=r"C:\tritonwin-home",
            PIP_INDEX_URL=index,
            NO_PROXY="*",
        )
        yield server


def made(lane: Lane, machine: Machine, kind: str, python: str) -> Environment:
    if kind == "uv":
        return uv_environment(lane, machine)
    return machine.environment(python, kind, ["pip"])


def equip(machine: Machine, env: Environment, pc: Pc) -> None:
    """The stand-ins of torch and of the driver of a PC."""
    for info in env.site_packages.glob("torch-*"):
        shutil.rmtree(info)
    machine.gpu(pc.gpu)
    standins.cuda_torch(env, machine.fakes, pc.torch, pc.cuda, triton="")


def install(machine: Machine, env: Environment, *words: str) -> dict[str, Any]:
    args = ("install", *words, "--python", env.python, "--json")
    done = machine.tool(*args, cwd="C:\\", timeout=300)
    found: dict[str, Any] = json.loads(done.stdout)
    assert "choices" in found, (done.stdout, done.stderr)
    return found


def compared(report: dict[str, Any], pc: Pc) -> None:
    """Each choice is the oracle's, and each wheel that was not taken has its reasons."""
    for choice in report["choices"]:
        assert choice["file"] == expected(choice["package"], pc), (choice["package"], pc)
        assert all(rejection["reasons"] for rejection in choice["rejected"])
        assert choice["rejected"] or choice["file"] or choice["notes"]


def asked_once(server: ListServer) -> None:
    """Nothing was asked twice, and no wheel was fetched whole; what was asked is forgotten."""
    whole = [path for path, status in server.asked if status == 200]
    assert len(whole) == len(set(whole))
    assert not any(path.startswith("/files/") for path in whole)
    server.asked.clear()


@pytest.mark.parametrize("kind", KINDS)
def test_installed_from_the_public_lists(
    lane: Lane, machine: Machine, server: ListServer, kind: str
) -> None:
    pc = KINDS[kind]
    env = made(lane, machine, kind, pc.python)
    equip(machine, env, pc)
    before = tree_hash(env.home)
    packages = ("sageattention", "flash-attn") if kind == "comfyui" else ("flash-attn",)
    report = install(machine, env, *packages, "--yes")
    compared(report, pc)
    assert report["status"] == "installed"
    assert [i["error"] for i in report["imports"]] == [None] * len(packages)
    assert (env.site_packages / "flash_attn" / "__init__.py").is_file()
    asked = [path for path, _ in server.asked if not path.startswith(("/files/", "/a/"))]
    assert len(asked) == len(set(asked))
    if kind == "comfyui":
        server.asked.clear()
        again = install(machine, env, *packages, "--yes")
        assert again["status"] == "nothing-to-do"
        assert {status for _, status in server.asked} <= {304, 404}
        machine.tool("undo", "--yes", cwd="C:\\").check()
        assert tree_hash(env.home) == before


@pytest.mark.full
def test_ten_packages_for_many_pcs(lane: Lane, machine: Machine, server: ListServer) -> None:
    for (kind, python), combinations in MANY.items():
        env = made(lane, machine, kind, python)
        for torch, cuda, gpu in combinations:
            pc = Pc(python, torch, cuda, gpu)
            equip(machine, env, pc)
            shutil.rmtree(machine.drives.linux(r"C:\tritonwin-home"), ignore_errors=True)
            server.asked.clear()
            report = install(machine, env, *PACKAGES, "--dry-run")
            assert {choice["package"] for choice in report["choices"]} == set(PACKAGES)
            compared(report, pc)
            asked_once(server)
        assert install(machine, env, *PACKAGES, "--dry-run")["choices"] == report["choices"]
        assert {status for _, status in server.asked} <= {304, 404}

"""The real Triton's cache on real Windows: listed, cleared where stale, and restored."""

from __future__ import annotations

import json
from pathlib import Path

import overlay
from faults import FORK
from trees import tree_hash
from winlane import Machine

STALE = "A" * 52


def test_what_triton_left_is_recognised(machine: Machine) -> None:
    machine.gpu("8.9")
    env = machine.environment("3.12", "full", [FORK])
    assert "ok" in overlay.run(env, "launch")["launch"]
    cache = env.path(rf"{machine.lane.profile}\.triton\cache")
    stale = machine.fakes.build_dll("cuda_utils.pyd", imports={"python311.dll": ("PyList_New",)})
    machine.place(rf"{machine.lane.profile}\.triton\cache\{STALE}\cuda_utils.pyd", stale)
    before = tree_hash(cache)

    def tool(*args: str) -> str:
        return machine.tool(*args, cwd="C:\\").check().stdout

    listed = json.loads(tool("cache", "list", "--json", "--python", env.python))
    entries = {e["entry"]["kind"]: e for e in listed["entries"] if e["state"] == "usable"}
    assert entries["kernel"]["entry"]["name"] == "scaled"
    assert entries["kernel"]["built_for"] == "cuda:89, Triton 3.8.0"
    assert entries["helper"]["built_for"] == "python312.dll"
    (bad,) = (e for e in listed["entries"] if e["state"] != "usable")
    assert (bad["state"], Path(bad["entry"]["path"].replace("\\", "/")).name) == ("stale", STALE)

    tool("cache", "clear", "--yes", "--python", env.python)
    assert not (cache / STALE).exists()
    assert "Everything is as it was before." in tool("undo", "--yes", "--python", env.python)
    assert tree_hash(cache) == before

    # what the real Triton wrote has the form of entries, and a text beside them has not
    machine.place(rf"{machine.lane.profile}\.triton\cache\mine.txt", b"mine")
    report = json.loads(tool("cache", "clear", "--all", "--yes", "--json", "--python", env.python))
    assert [Path(left.replace("\\", "/")).name for left in report["left"]] == ["mine.txt"]
    assert [path.name for path in cache.iterdir()] == ["mine.txt"]

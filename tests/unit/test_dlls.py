from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from hosts import fake_host
from pe_files import pe_file
from pe_version import versioned
from trees import write

from tritonwin.cli import app
from tritonwin.facts.dlls.loading import dll_tree
from tritonwin.facts.dlls.tree import DllTree, faults, origin

MODULE = "py/Lib/site-packages/pkg/mod.pyd"
SYSTEM = "windows/System32/KERNEL32.dll"
PYTHON = {
    "py/python.exe": pe_file("python312.dll", "VCRUNTIME140.dll"),
    "py/python312.dll": pe_file(exports=["PyModule_Create2"]),
    "py/vcruntime140.dll": versioned(pe_file(exports=["memcpy"]), "14.40.33807.0"),
    SYSTEM: pe_file(exports=["CreateFileW"]),
}


def module(
    functions: Mapping[str, Sequence[str | int]], delayed: Mapping[str, Sequence[str | int]] = {}
) -> bytes:
    wanted = {"python312.dll": ["PyModule_Create2"], "KERNEL32.dll": ["CreateFileW"]}
    return pe_file(functions={**wanted, **functions}, delayed=delayed)


def load(tmp_path: Path, files: Mapping[str, str | bytes]) -> DllTree:
    root = write(tmp_path, {**PYTHON, **files})
    return dll_tree(root / MODULE, fake_host(root, {"SystemRoot": str(root / "windows")}))


SCENES = {scene["about"]: scene for scene in cases("dlls.toml", "scene")}


def seeded(scene: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The module of a scene, and the files around it."""
    made: dict[str, str | bytes] = {
        MODULE: module(scene.get("module", {}), scene.get("delayed", {}))
    }
    for name, told in scene.get("files", {}).items():
        if isinstance(told, str):
            made[name] = told
            continue
        content = pe_file(**{key: value for key, value in told.items() if key != "version"})
        made[name] = versioned(content, told["version"]) if "version" in told else content
    return made


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_what_is_found(tmp_path: Path, scene: Mapping[str, Any]) -> None:
    found = load(tmp_path, seeded(scene))
    assert found.loader == "python"
    for name, words in scene.get("finds", {}).items():
        each = found.module(name)
        state = [each.state, str(each.found_in), each.version]
        state += ["preloaded"] * each.preloaded + ["delayed"] * each.delayed
        assert set(words.split()) <= set(state), name
    assert [fault.dll for fault in faults(found)] == ([scene["fault"]] if "fault" in scene else [])
    for fault in faults(found):
        assert scene["says"] in fault.text
        assert fault.help == origin(scene["fault"])


def test_a_program_finds_what_is_on_path(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "bin/ptxas.exe": pe_file("a.dll", "b.dll"),
            "bin/a.dll": pe_file(exports=["f"]),
            "tools/b.dll": pe_file(exports=["f"]),
            SYSTEM: pe_file(),
        },
    )
    host = fake_host(
        tmp_path, {"PATH": str(tmp_path / "tools"), "SystemRoot": str(tmp_path / "windows")}
    )
    found = dll_tree(tmp_path / "bin" / "ptxas.exe", host)
    assert found.loader == "program"
    places = {m.name: m.found_in for m in found.modules[1:]}
    assert places == {"a.dll": "file", "b.dll": "path"}


def test_an_unpacked_wheel_has_no_python_and_no_system(tmp_path: Path) -> None:
    write(tmp_path, {"triton/_C/libtriton.pyd": module({"ole32.dll": ["f"]})})
    file = tmp_path / "triton" / "_C" / "libtriton.pyd"
    tree = dll_tree(file, fake_host(tmp_path, windows=False))
    assert not tree.system_known
    states = {m.name: m.state for m in tree.modules[1:]}
    expected = {"python312.dll": "missing", "KERNEL32.dll": "system", "ole32.dll": "system"}
    assert states == expected


def command(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    status = app.run(["dlls", *map(str, args)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(tmp_path, seeded(SCENES["outdated"]))
    status, out, _ = command(capsys, tmp_path / MODULE)
    assert status == 1
    assert "msvcp140.dll  14.0.24215.1, 64 bit, beside python.exe" in out
    assert "lacks new" in out
    assert "help: It belongs to Microsoft's Visual C++ runtime" in out


def test_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(tmp_path, {MODULE: module({})})
    status, out, _ = command(capsys, tmp_path / MODULE, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["schema"] == "tritonwin.dlls/3"
    assert document["loads"] is True
    assert document["tree"]["python"] == str(tmp_path / "py" / "python.exe")


def test_a_file_whose_lists_are_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = bytearray(pe_file("a.dll"))
    at = damaged.index(b"a.dll\0")
    damaged[at:] = b"\xff" * (len(damaged) - at)
    file = tmp_path / "bad.dll"
    file.write_bytes(damaged)
    status, out, _ = command(capsys, file)
    assert status == 1
    assert f"error: {file} is damaged (Windows' error 193)" in out
    assert "Everything" not in out
    assert "System32" not in out


def test_what_may_lie_elsewhere_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = write(tmp_path, {"pkg/mod.pyd": module({})})
    status, out, _ = command(capsys, wheel / "pkg" / "mod.pyd")
    assert status == 1
    assert "There is no Python around the file: name the one that loads it with --python" in out
    assert "There is no System32 to look into" in out


@pytest.mark.parametrize(
    ("content", "words"), [(None, "is not a file"), (b"text", "not a program file of Windows")]
)
def test_wrong_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    path = tmp_path / "a.pyd"
    if content:
        path.write_bytes(content)
    status, _, err = command(capsys, path)
    assert status == 2
    assert words in err
    assert "help:" in err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nvcuda.dll", "NVIDIA's driver"),
        ("VCRUNTIME140_1.dll", "Visual C++"),
        ("python313t.dll", "Python itself"),
        ("c10_cuda.dll", "torch"),
        ("cublasLt64_12.dll", "CUDA"),
        ("libfoo.dll", "brought it along"),
    ],
)
def test_where_dlls_come_from(name: str, words: str) -> None:
    assert words in origin(name)

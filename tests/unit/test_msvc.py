from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hosts import fake_host
from pace import PATIENCE
from trees import plant, write

from tritonwin.facts.records import MsvcToolset
from tritonwin.facts.toolchain import msvc
from tritonwin.facts.toolchain.msvc import find_msvc
from tritonwin.facts.toolchain.parts import parts

needs_shebang = pytest.mark.skipif(os.name == "nt", reason="the stand-in program is a shell script")


def toolset(instance: Path, version: str, *without: str) -> Path:
    plant(instance, "VC/Auxiliary/Build/vcvarsall.bat")
    plant(instance / "VC/Tools/MSVC" / version / "bin/Hostx64/x64/1033", "clui.dll")
    files = (part for part in parts().msvc.every if not part.endswith(without))
    return plant(instance / "VC/Tools/MSVC" / version, *files)


def entry(
    path: Path, version: str, name: str = "Visual Studio", **more: object
) -> dict[str, object]:
    return {
        "installationPath": str(path),
        "installationVersion": version,
        "displayName": name,
        "isComplete": True,
        **more,
    }


def say(tmp: Path, script: str) -> None:
    """Put a program in the place of vswhere.exe."""
    place = tmp / "pf86/Microsoft Visual Studio/Installer"
    write(place, {"vswhere.exe": f"#!/bin/sh\n{script}\n"})
    (place / "vswhere.exe").chmod(0o755)


def vswhere_lists(tmp: Path, *entries: dict[str, object]) -> None:
    write(tmp, {"vswhere.json": json.dumps(entries)})
    say(tmp, f"cat '{tmp / 'vswhere.json'}'; echo \"$@\" > '{tmp / 'arguments'}'")


def find(tmp: Path, env: Mapping[str, str] | None = None) -> list[MsvcToolset]:
    folders = {"ProgramFiles": str(tmp / "pf"), "ProgramFiles(x86)": str(tmp / "pf86")}
    found = find_msvc(fake_host(tmp, {**folders, **(env or {})}))
    assert sum(t.chosen for t in found) <= 1
    return list(found)


@needs_shebang
def test_by_vswhere_newest_instance_and_toolset_first(tmp_path: Path) -> None:
    old, new = tmp_path / "vs2022", tmp_path / "vs2026"
    toolset(old, "14.44.35207")
    toolset(new, "14.50.35717")
    toolset(new, "14.9.1")
    vswhere_lists(tmp_path, entry(old, "17.14.1"), entry(new, "18.0.1", "Build Tools 2026"))
    found = find(tmp_path)
    assert [t.version for t in found] == ["14.50.35717", "14.9.1", "14.44.35207"]
    assert [t.chosen for t in found] == [True, False, False]
    first = found[0]
    assert (first.product, first.source, first.english) == ("Build Tools 2026", "vswhere", True)
    assert first.vcvarsall == str(new / "VC/Auxiliary/Build/vcvarsall.bat")
    assert first.missing == ()
    asked = (tmp_path / "arguments").read_text().split()
    assert {"-all", "-prerelease", "-utf8", "json"} <= set(asked)


@needs_shebang
def test_non_ascii_paths_survive(tmp_path: Path) -> None:
    instance = tmp_path / "VS Größe 工具"
    toolset(instance, "14.44.35207")
    vswhere_lists(tmp_path, entry(instance, "17.14.1"))
    assert find(tmp_path)[0].instance == str(instance)


@needs_shebang
def test_an_unfinished_installation_is_not_chosen(tmp_path: Path) -> None:
    toolset(tmp_path / "vs", "14.44.35207")
    vswhere_lists(tmp_path, entry(tmp_path / "vs", "17.14.1", isComplete=False))
    (found,) = find(tmp_path)
    assert not found.chosen


@needs_shebang
def test_visual_studio_without_cpp_tools(tmp_path: Path) -> None:
    plant(tmp_path / "vs", "Common7/IDE/devenv.exe")
    vswhere_lists(tmp_path, entry(tmp_path / "vs", "17.14.1"))
    (found,) = find(tmp_path)
    assert (found.version, found.compiler, found.chosen) == ("", None, False)
    assert found.missing == ("VC\\Tools\\MSVC",)


@needs_shebang
@pytest.mark.parametrize(
    "script",
    [
        "exit 3",
        "exec sleep 600",
        "echo 'not json'",
        "echo '{}'",
        """echo '[1, {}, {"installationPath": 7, "installationVersion": []}]'""",
        "head -c 200000 /dev/zero | tr '\\\\000' '['",
    ],
)
def test_without_an_answer_the_folders_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(msvc, "_TIMEOUT", 0.5 if "sleep" in script else PATIENCE)
    say(tmp_path, script)
    toolset(tmp_path / "pf/Microsoft Visual Studio/2022/BuildTools", "14.44.35207")
    (found,) = find(tmp_path)
    assert (found.product, found.chosen) == ("Visual Studio 2022 BuildTools", True)
    assert found.source == "Program Files"


@pytest.mark.parametrize("below", ["", "Tools/MSVC", "Tools/MSVC/x", "a/Tools/MSVC/x", "MSVC/x/y"])
def test_folders_right_below_a_drive(tmp_path: Path, below: str) -> None:
    folder = f"{tmp_path.anchor}{below}"
    host = fake_host(tmp_path, {"VCINSTALLDIR": folder, "VCToolsVersion": "14.44"})
    assert not any(found.chosen for found in find_msvc(host))

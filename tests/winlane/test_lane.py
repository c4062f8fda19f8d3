"""The lane proves itself: what other tests stand on works, and a test leaves nothing behind."""

from __future__ import annotations

import json

import pytest
from winlane import Lane, Machine
from winlane.resources import PYTHONS

KINDS = ("bare", "comfyui", "full", "venv", "conda")
WINDOWS = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
REPORT = "import json, sys; print(json.dumps([sys.version, sys.prefix, sys.base_prefix, sys.path]))"


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_starts(machine: Machine, kind: str, version: str) -> None:
    made = machine.environment(version, kind)
    said, prefix, base_prefix, path = json.loads(made.run("-c", REPORT).check().stdout)
    assert said.startswith(PYTHONS[version].full)
    assert (prefix != base_prefix) == (kind == "venv")
    if kind == "venv":
        assert made.base
        assert base_prefix == made.win(made.base.home)
        assert prefix == made.win(made.root / "venv")
    sees_packages = any(entry.endswith("site-packages") for entry in path)
    assert sees_packages == (kind != "bare")


def test_breaking_one_environment_leaves_the_next_whole(machine: Machine) -> None:
    first = machine.environment("3.12", "bare")
    first.replace("python312.dll", b"broken")
    first.remove()
    machine.environment("3.12", "bare").run("-c", "pass").check()


def test_exit_status_and_streams(machine: Machine) -> None:
    made = machine.environment("3.12", "bare")
    program = (
        "import os, sys; print(sys.stdin.read(), file=sys.stderr); os._exit(0xC0000005 - 2**32)"
    )
    result = made.run("-c", program, input="gruß")
    assert (result.returncode, result.stdout) == (0xC0000005, "")
    assert result.stderr.strip()


def test_variables_are_exactly_the_ones_given(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "/usr/bin/gcc")
    machine.variables["INCLUDE"] = r"C:\a b;C:\c "
    machine.path_entries.append(r"C:\first")
    profile = machine.home("Jürgen")
    program = (
        "import ctypes, json, os, tempfile;"
        "b = ctypes.create_unicode_buffer(260); ctypes.windll.shell32.SHGetFolderPathW(0, 28, 0, 0, b);"
        "print(json.dumps([os.environ.get('CC'), os.environ['include'], os.environ['PATH'],"
        "os.path.expanduser('~'), b.value, tempfile.gettempdir()]))"
    )
    said = json.loads(machine.environment("3.12", "bare").run("-c", program).check().stdout)
    cc, include, path, home, local, temp = said
    assert (cc, include) == (None, r"C:\a b;C:\c ")
    assert path.startswith(r"C:\first;C:\windows\system32")
    assert (home, local) == (profile, rf"{profile}\AppData\Local")
    assert temp == rf"{profile}\AppData\Local\Temp"


def test_registry_and_files_come_back(lane: Lane) -> None:
    key = r"HKLM\SOFTWARE\LaneTest\Inner"
    file, dll = r"C:\Program Files\LaneTest\a.txt", r"C:\windows\system32\msvcp140.dll"
    with Machine(lane) as first:
        first.registry.set(key, "Value", "text")
        first.registry.set(key, "Bytes", b"\x00\xff", "REG_BINARY")
        first.registry.set(WINDOWS, "ProductName", "Lane")
        first.registry.protect(r"HKCU\Environment")
        first.place(file, b"x")
        first.place(dll, b"broken")
        assert first.registry.read(key) == {"Value": "text", "Bytes": b"\x00\xff"}
        assert first.wine("cmd", "/c", "type", file).stdout == "x"
        first.wine("reg", "add", r"HKCU\Environment", "/v", "LANE", "/d", "1", "/f").check()
        first.wine("cmd", "/c", "echo 1> C:\\Users\\Public\\left.txt").check()
        assert first.drives.linux(r"C:\Users\Public\left.txt").exists()
    with Machine(lane) as second:
        assert second.registry.read(r"HKLM\SOFTWARE\LaneTest") is None
        assert "LANE" not in (second.registry.read(r"HKCU\Environment") or {})
        windows = second.registry.read(WINDOWS)
        assert windows
        assert windows["ProductName"] != "Lane"
        assert not second.drives.linux(file).parent.exists()
        assert not second.drives.linux(r"C:\Users\Public\left.txt").exists()
        assert second.drives.linux(dll).stat().st_size > 1000

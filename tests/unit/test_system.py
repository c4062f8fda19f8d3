from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from cases import cases
from hosts import MemoryRegistry, fake_host
from trees import plant, write

from tritonwin.facts.system import git_long_paths, parse_meminfo, read_system
from tritonwin.system import winapi
from tritonwin.system.host import Host
from tritonwin.system.winapi import Memory

CONTROL = r"HKLM\SYSTEM\CurrentControlSet\Control"
UNLOCK = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\AppModelUnlock"
ENVIRONMENT = rf"{CONTROL}\Session Manager\Environment"


@pytest.fixture(autouse=True)
def no_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows its own answers would hide those of the made-up registry."""
    monkeypatch.setattr(winapi, "windows_version", lambda: "10.0.22631")
    monkeypatch.setattr(winapi, "ansi_code_page", lambda: None)


def test_a_windows_machine(tmp_path: Path) -> None:
    registry = MemoryRegistry(
        {
            ENVIRONMENT: {"PROCESSOR_ARCHITECTURE": "ARM64"},
            rf"{CONTROL}\Nls\CodePage": {"ACP": "936", "OEMCP": "437"},
            rf"{CONTROL}\FileSystem": {"LongPathsEnabled": 1},
            rf"{CONTROL}\CI\Policy": {"VerifiedAndReputablePolicyState": 2},
            UNLOCK: {"AllowDevelopmentWithoutDevLicense": 1},
        }
    )
    env = {"TEMP": r"C:\T", "PROCESSOR_ARCHITECTURE": "AMD64"}
    found = read_system(fake_host(tmp_path, env, registry))
    assert (found.os, found.version, found.machine) == ("windows", "10.0.22631", "ARM64")
    assert found.ansi_code_page == 936
    assert (found.long_paths, found.developer_mode) == (True, True)
    assert found.smart_app_control == "evaluation"
    assert found.temp == r"C:\T"
    assert found.cpu_count == os.cpu_count()
    assert found.sources["long_paths"] == rf"registry {CONTROL}\FileSystem"
    assert found.sources["temp"] == "variable TEMP"


def test_a_windows_that_says_nothing(tmp_path: Path) -> None:
    found = read_system(fake_host(tmp_path))
    assert found.machine == ""
    # no value means off to Windows
    assert (found.long_paths, found.developer_mode) == (False, False)
    assert found.sources["long_paths"].endswith("(no value: off)")
    assert found.smart_app_control is None
    assert found.ansi_code_page is None
    assert "ansi_code_page" not in found.sources


@pytest.mark.parametrize(("state", "expected"), [(0, "off"), (1, "on"), (7, None), ("1", None)])
def test_smart_app_control(tmp_path: Path, state: int | str, expected: str | None) -> None:
    policy = {rf"{CONTROL}\CI\Policy": {"VerifiedAndReputablePolicyState": state}}
    host = fake_host(tmp_path, {}, MemoryRegistry(policy))
    assert read_system(host).smart_app_control == expected


@pytest.mark.parametrize("value", [0, 2, "1"])
def test_long_paths_are_on_for_1_only(tmp_path: Path, value: int | str) -> None:
    registry = MemoryRegistry({rf"{CONTROL}\FileSystem": {"LongPathsEnabled": value}})
    assert read_system(fake_host(tmp_path, {}, registry)).long_paths is False


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"PROCESSOR_ARCHITECTURE": "AMD64"}, "AMD64"),
        ({"PROCESSOR_ARCHITECTURE": "x86", "PROCESSOR_ARCHITEW6432": "AMD64"}, "AMD64"),
    ],
)
def test_machine_of_a_32_bit_process(tmp_path: Path, env: dict[str, str], expected: str) -> None:
    assert read_system(fake_host(tmp_path, env)).machine == expected


@pytest.mark.skipif(sys.platform == "win32", reason="reads this Linux")
def test_this_machine() -> None:
    found = read_system(Host.this_machine())
    assert found.os == ("linux" if sys.platform == "linux" else "other")
    assert found.version == os.uname().release
    assert found.machine == os.uname().machine
    assert (found.long_paths, found.developer_mode, found.wine) == (None, None, None)
    assert found.admin is (os.geteuid() == 0)
    assert found.memory_bytes is not None
    assert found.memory_bytes > 2**24
    assert set(found.sources) <= set(vars(found))


def test_meminfo() -> None:
    text = "MemTotal:       32768000 kB\nMemFree:  1 kB\nMemAvailable:   16384000 kB\nX\n"
    assert parse_meminfo(text) == Memory(32768000 * 1024, 16384000 * 1024, 16384000 * 1024)
    with pytest.raises(KeyError):
        parse_meminfo("MemTotal: 1 kB\n")


@pytest.mark.parametrize(("text", "expected"), cases("variables.toml", "git_settings"))
def test_git_settings(tmp_path: Path, text: str, expected: bool) -> None:
    write(tmp_path, {".gitconfig": text})
    assert git_long_paths(fake_host(tmp_path))[0] is expected


def test_the_users_git_settings_count_last(tmp_path: Path) -> None:
    host = fake_host(tmp_path, {"ProgramFiles": str(tmp_path / "PF")})
    assert git_long_paths(host) == (None, "")
    write(tmp_path, {"PF/Git/etc/gitconfig": "[core]\nsymlinks = false\n"})
    assert git_long_paths(host) == (False, "git's default")
    write(tmp_path, {"PF/Git/etc/gitconfig": "[core]\nlongpaths = true\n"})
    assert git_long_paths(host) == (True, str(tmp_path / "PF/Git/etc/gitconfig"))
    write(tmp_path, {".gitconfig": "[core]\nlongpaths = off\n"})
    assert git_long_paths(host) == (False, str(tmp_path / ".gitconfig"))


def test_git_without_settings(tmp_path: Path) -> None:
    plant(tmp_path, "bin/git.exe")
    host = fake_host(tmp_path, {"PATH": str(tmp_path / "bin")})
    assert git_long_paths(host) == (False, "git's default")

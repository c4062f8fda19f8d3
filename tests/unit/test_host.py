"""PATH as programs are looked up on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosts import fake_host
from trees import plant

from tritonwin.system import host as module


def test_programs_are_found_in_absolute_folders_of_path_only(tmp_path: Path) -> None:
    plant(tmp_path, "a b/gcc.exe", "c/gcc.exe", "gcc.exe")
    path = ";".join(['"', f'"{tmp_path}/a b"', "", ".", "gone", f" {tmp_path}/c ", f"{tmp_path}/c"])
    host = fake_host(tmp_path, {"Path": path})
    assert host.executables("gcc") == (tmp_path / "a b/gcc.exe", tmp_path / "c/gcc.exe")
    assert host.executables("cl") == ()


def test_a_folder_that_is_gone_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def ask(path: Path) -> bool:
        asked.append(path)
        return False

    monkeypatch.setattr(module, "is_folder", ask)
    monkeypatch.setattr(module, "is_file", ask)
    host = fake_host(tmp_path, {"PATH": str(tmp_path / "gone")})
    for name in ("cl", "gcc", "clang", "python"):
        assert host.executables(name) == ()
    assert asked == [tmp_path / "gone"]

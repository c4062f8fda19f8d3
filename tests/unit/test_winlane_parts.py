"""The parts of the lane that need no Wine."""

from __future__ import annotations

import platform
import re
import shutil
from pathlib import Path

import pytest
from winlane import (
    HeadersUnavailable,
    LaneError,
    LaneUnavailable,
    headers,
    linux_pythons,
    packages,
    pythons,
    wine,
)
from winlane.cache import Cache
from winlane.process import Result, merged
from winlane.resources import PYTHONS, TOOL_PACKAGES, TRITON_OF_TORCH, WHEELS
from winlane.windows_paths import Drives


def test_variables_compare_as_on_windows() -> None:
    layers = merged({"Path": "a", "CC": "x"}, None, {"PATH": "b", "cc": None})
    assert layers == {"PATH": "b"}


def test_paths_there_and_back(tmp_path: Path) -> None:
    drives = Drives(tmp_path / "drive_c")
    place = tmp_path / "drive_c" / "Program Files" / "Größe"
    place.mkdir(parents=True)
    assert drives.windows(place) == r"C:\Program Files\Größe"
    assert drives.linux(r"c:\PROGRAM files\GRÖßE") == place
    assert drives.linux("C:/Program Files/new/Name") == place.parent / "new" / "Name"
    assert drives.windows(tmp_path) == "Z:" + str(tmp_path).replace("/", "\\")
    assert drives.linux(drives.windows(tmp_path)) == tmp_path
    assert drives.windows(drives.drive_c) == "C:\\"
    for wrong in ("D:\\x", "C:x", "relative"):
        with pytest.raises(LaneError, match="absolute path"):
            drives.linux(wrong)


def test_failed_result_shows_both_streams() -> None:
    assert Result(0, "", "").check().returncode == 0
    with pytest.raises(LaneError, match=re.compile("0xc0000135.*out.*err", re.DOTALL)):
        Result(0xC0000135, "out", "err").check()


@pytest.mark.parametrize(
    ("system", "machine", "tools", "reason"),
    [
        ("Darwin", "arm64", True, "x86-64 Linux, this is arm64 Darwin"),
        ("Linux", "aarch64", True, "aarch64"),
        ("Linux", "x86_64", False, "no apt-get and no dpkg"),
    ],
)
def test_unsupported_machine_says_why(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    system: str,
    machine: str,
    tools: bool,
    reason: str,
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if tools else None)
    with pytest.raises(LaneUnavailable, match=reason):
        wine.provide(Cache.open(tmp_path))


def test_missing_uv_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(packages.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaneUnavailable, match="pip install uv"):
        packages.find_uv()


def test_newest_headers_of_a_minor_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (
        ".pyenv/versions/3.99.2/include/python3.99",
        ".pyenv/versions/3.99.10/include/python3.99",
        ".pyenv/versions/3.99.11/include/python3.99",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for patch in ("2", "10"):
        (tmp_path / f".pyenv/versions/3.99.{patch}/include/python3.99/Python.h").touch()
    found = linux_pythons.linux_headers("3.99")
    assert found
    assert "3.99.10" in str(found)
    assert linux_pythons.linux_headers("3.98") is None
    with pytest.raises(LaneError, match=r"3\.10, 3\.11"):
        pythons.distribution("2.7")


def test_headers_of_a_service_that_keeps_several(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RUNNER_TOOL_CACHE", str(tmp_path / "3.tools"))
    for patch in ("9", "10"):
        folder = tmp_path / f"3.tools/Python/3.99.{patch}/x64/include/python3.99"
        folder.mkdir(parents=True)
        (folder / "Python.h").touch()
    found = linux_pythons.linux_headers("3.99")
    assert found
    assert "3.99.10" in str(found)


def test_headers_are_those_here_then_the_distributions_then_uvs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Stand-ins for what fetches: the network."""
    asked: list[str] = []

    def unpack(folder: Path, names: list[str]) -> None:
        asked.append("debian")
        include = folder / "usr/include/python3.11"
        include.mkdir(parents=True)
        (include / "Python.h").touch()

    def run(*words: str | Path) -> None:
        asked.append(f"uv {words[3]}")
        if words[3] == "3.13":
            raise LaneError("uv ended with 1:\nno network")
        include = Path(words[5], "cpython-3.12.9-linux/include/python3.12")
        include.mkdir(parents=True)
        (include / "Python.h").touch()

    here = tmp_path / "here"
    monkeypatch.setattr(headers, "linux_headers", {"3.10": here}.get)
    monkeypatch.setattr(headers, "unpack_what_debian_has", unpack)
    monkeypatch.setattr(headers, "run", run)
    cache = Cache.open(tmp_path / "cache")
    assert headers.provide(cache, "3.10") == here
    assert asked == []
    assert headers.provide(cache, "3.11").parts[-3:] == ("usr", "include", "python3.11")
    assert headers.provide(cache, "3.12").parts[-3:] == (
        "cpython-3.12.9-linux",
        "include",
        "python3.12",
    )
    for _ in range(2):
        with pytest.raises(
            HeadersUnavailable, match=r"uv python install 3\.13; it said: no network"
        ):
            headers.provide(cache, "3.13")
    assert asked == ["debian", "uv 3.12", "uv 3.13"]


def test_everything_is_pinned() -> None:
    assert set(PYTHONS) == {"3.10", "3.11", "3.12", "3.13"}
    for requirement in (*WHEELS.values(), *TOOL_PACKAGES):
        assert re.fullmatch(r"[a-z-]+==[\w.]+", requirement), requirement
    assert all(re.match(r"(==|~=)3\.", each) for each in TRITON_OF_TORCH.values())

"""May a folder be written to: asked without leaving anything there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tritonwin.system.access import can_write, hold, nearest_existing, write_obstacle


def test_a_folder_that_can_be_written(tmp_path: Path) -> None:
    assert can_write(tmp_path) is True
    assert can_write(tmp_path / "not" / "yet") is True
    assert write_obstacle(tmp_path / "not" / "yet") is None
    assert nearest_existing(tmp_path / "not" / "yet") == tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="modes do not rule Windows' folders")
def test_a_folder_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # root may write everywhere; the answer of the system stands in for a plain user's
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert can_write(tmp_path) is False
    assert write_obstacle(tmp_path / "cache") == f"{tmp_path}: access denied"


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    assert can_write(tmp_path / "cache" / "deep") is False
    assert write_obstacle(tmp_path / "cache" / "deep") == f"{tmp_path / 'cache'} is a file"


def test_what_may_not_be_looked_at_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> int:
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(Path, "stat", refuse)
    assert nearest_existing(tmp_path / "locked") == tmp_path / "locked"


def test_a_drive_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*args: object, **options: object) -> int:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "stat", absent)
    assert can_write(Path("Q:/cache")) is None
    assert write_obstacle(Path("Q:/cache")) is None


@pytest.mark.skipif(sys.platform == "win32", reason="what is held there cannot be deleted")
def test_a_file_that_is_deleted_at_this_moment_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    file = tmp_path / "file"
    lock = fcntl.flock

    def deleted_first(descriptor: int, how: int) -> None:
        file.unlink()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", deleted_first)
    assert hold(file) is None

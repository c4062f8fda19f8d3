"""Folders for temporary files: none is left for long, and nobody else's is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import PATIENCE, wait_for

import tritonwin
from tritonwin.system import scratch
from tritonwin.system.scratch import MARK, scratch_folder

posix = pytest.mark.skipif(os.name == "nt", reason="signals, links and owners are POSIX's")
NOW = time.time()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for temporary files that nobody has swept yet."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    scratch.sweep.cache_clear()
    yield place
    scratch.sweep.cache_clear()


def left(place: Path, *, days: float = 4) -> Path:
    """The folder of a process that was killed days ago."""
    folder = place / "twleft"
    (folder / "cache" / "deep").mkdir(parents=True)
    (folder / "cache" / "deep" / "a.bin").write_bytes(b"x")
    (folder / MARK).touch()
    os.utime(folder / MARK, (NOW, NOW - days * 86_400))
    return folder


def test_a_folder_is_gone_afterwards(place: Path) -> None:
    with scratch_folder() as folder:
        assert folder.parent == place
        (folder / "a").mkdir()
        (folder / "a" / "b").write_text("c")
        (folder / "a" / "b").chmod(0o400)
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_swept_up_days_later(place: Path) -> None:
    left(place)
    with scratch_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_what_a_process_may_still_have_is_left_alone(place: Path) -> None:
    mine = left(place, days=2)
    with scratch_folder():
        assert (mine / "cache" / "deep" / "a.bin").is_file()


def test_folders_of_others_stay(place: Path) -> None:
    for name in ("tw-mine", "twain", "other"):
        (place / name).mkdir()
        (place / name / "kept").write_text("")
    for file in (place / "other" / MARK, place / "twofold"):  # another name; a file
        file.write_text("")
        os.utime(file, (0, 0))
    before = sorted(place.rglob("*"))
    with scratch_folder():
        pass
    assert sorted(place.rglob("*")) == before


@posix
def test_no_link_is_followed(place: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / MARK).write_text("")
    os.utime(outside / MARK, (0, 0))
    (place / "twlink").symlink_to(outside)
    mine = left(place)
    (mine / "out").symlink_to(outside)
    (place / "twmark").mkdir()
    (place / "twmark" / MARK).symlink_to(outside / MARK)
    with scratch_folder():
        assert not mine.exists()
    assert [p.name for p in outside.iterdir()] == [MARK]
    assert (place / "twmark" / MARK).is_symlink()


@posix
@pytest.mark.skipif(os.name != "nt" and os.getuid() != 0, reason="only root gives files away")
def test_what_another_user_left_is_theirs(place: Path) -> None:
    theirs = left(place)
    os.chown(theirs, 12345, 12345)
    with scratch_folder():
        assert (theirs / "cache").is_dir()


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_rung_leaves_nothing_when_verify_is_told_to_end(
    place: Path, tmp_path: Path, name: str
) -> None:
    package, begun = tmp_path / "packages" / "triton", tmp_path / "begun"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        f"import time\nopen({str(begun)!r}, 'w')\ntime.sleep(600)\n"
    )
    path = os.pathsep.join([str(package.parent), str(Path(tritonwin.__file__).parents[1])])
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(place))
    process = subprocess.Popen(
        [sys.executable, "-m", "tritonwin", "verify", "--python", sys.executable,
         "--only", "import-triton"],
        env={**os.environ, **temporary, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for(begun.exists)
    assert [p for p in place.iterdir() if p.name.startswith("tw")]
    number = getattr(signal, name)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert said.split() == [b"interrupted"]
    assert list(place.iterdir()) == []

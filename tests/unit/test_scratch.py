"""Folders for temporary files: none outlives its process for long, and nobody else's is touched."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import PATIENCE, wait_for

import tritonwin
from tritonwin.system import scratch
from tritonwin.system.access import hold
from tritonwin.system.scratch import MARK, scratch_folder

WAITS = """
import sys, time
from tritonwin.system.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "cache" / "deep").mkdir(parents=True)
    file = folder / "cache" / "deep" / "a.bin"
    file.write_bytes(b"x")
    file.chmod(0o400)
    print(folder, flush=True)
    time.sleep(600)
"""
if os.name != "nt":
    import fcntl
posix = pytest.mark.skipif(os.name == "nt", reason="signals, links and owners are POSIX's")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for temporary files that nobody has swept yet."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    scratch.sweep.cache_clear()
    yield place
    scratch.sweep.cache_clear()


def environment(place: Path, *more: Path) -> dict[str, str]:
    path = os.pathsep.join([*map(str, more), str(Path(tritonwin.__file__).parents[1])])
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(place))
    return {**os.environ, **temporary, "PYTHONPATH": path}


def abandoned(place: Path) -> Path:
    """The folder of a process that was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS], env=environment(place), stdout=subprocess.PIPE
    )
    assert process.stdout
    folder = Path(process.stdout.readline().decode().strip())
    process.kill()
    process.wait(PATIENCE)
    process.stdout.close()
    return folder


def test_a_folder_is_gone_afterwards(place: Path) -> None:
    with scratch_folder() as folder:
        assert folder.parent == place
        assert [p.name for p in folder.iterdir()] == [MARK]
        (folder / "a").mkdir()
        (folder / "a" / "b").write_text("c")
    assert list(place.iterdir()) == []


@posix
def test_a_mark_that_another_process_swept_up_first_is_left_to_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moments between the making of a mark and its lock, in which a sweep can come."""
    taken: list[int] = []

    def first_comes_a_sweep(mark: Path) -> int | None:
        if len(taken) == 0:
            taken.append(hold(mark) or 0)
            return hold(mark)
        if len(taken) == 1:
            taken.append(0)
            mark.parent.rmdir()
        return hold(mark)

    monkeypatch.setattr(scratch, "hold", first_comes_a_sweep)
    with scratch_folder() as folder:
        assert (folder / MARK).is_file()
        assert len(taken) == 2
    os.close(taken[0])
    (left,) = place.iterdir()
    assert left != folder


@posix
def test_a_file_that_is_deleted_at_this_moment_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    lock = fcntl.flock

    def deleted_first(descriptor: int, how: int) -> None:
        file.unlink()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", deleted_first)
    assert hold(file) is None


def test_what_a_killed_process_left_is_swept_up_by_the_next(place: Path) -> None:
    left = abandoned(place)
    assert (left / "cache" / "deep" / "a.bin").is_file()
    with scratch_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_what_a_living_process_has_is_left_alone(place: Path) -> None:
    with scratch_folder() as mine:
        (mine / "a").write_text("b")
        scratch.sweep.cache_clear()
        with scratch_folder():
            assert (mine / "a").read_text() == "b"
            assert hold(mine / MARK) is None


def test_what_cannot_be_deleted_yet_is_found_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = abandoned(place)
    with contextlib.ExitStack() as stack:
        if os.name == "nt":
            stack.enter_context((left / "cache" / "deep" / "a.bin").open("rb"))
        else:  # elsewhere what is open can be deleted
            monkeypatch.setattr(scratch, "_delete", lambda path: None)
        stack.enter_context(scratch_folder())
        assert sorted(p.name for p in left.iterdir()) == ["cache", MARK]
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    scratch.sweep.cache_clear()
    with scratch_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_folders_of_others_stay(place: Path) -> None:
    for name in ("tw-mine", "twain", "other"):
        (place / name).mkdir()
        (place / name / "kept").write_text("")
    (place / "other" / MARK).write_text("")  # a mark, and another name
    (place / "twofold").write_text("a file")
    before = sorted(place.rglob("*"))
    with scratch_folder():
        pass
    assert sorted(place.rglob("*")) == before


@posix
def test_no_link_is_followed(place: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / MARK).write_text("")
    (outside / "kept").write_text("")
    (place / "twlink").symlink_to(outside)
    left = abandoned(place)
    (left / "out").symlink_to(outside)
    (place / "twmark").mkdir()
    (place / "twmark" / MARK).symlink_to(outside / MARK)
    with scratch_folder():
        assert not left.exists()
    assert sorted(p.name for p in outside.iterdir()) == ["kept", MARK]
    assert (place / "twmark" / MARK).is_symlink()


@posix
@pytest.mark.skipif(os.name != "nt" and os.getuid() != 0, reason="only root gives files away")
def test_what_another_user_left_is_theirs(place: Path) -> None:
    left = abandoned(place)
    os.chown(left, 12345, 12345)
    with scratch_folder():
        assert (left / "cache").is_dir()


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
    words = ["verify", "--python", sys.executable, "--only", "import-triton"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tritonwin", *words], env=environment(place, package.parent),
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

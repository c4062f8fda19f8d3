"""Full disks: the exit status, the message, and the files that are left."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tritonwin.cli import endings
from tritonwin.errors import Exit
from tritonwin.system.files import write_whole

posix = pytest.mark.skipif(os.name == "nt", reason="/dev/full and limits on files are POSIX's")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
LOG = "ModuleNotFoundError: No module named 'triton'\n"


@pytest.fixture(autouse=True)
def inputs(saved: Path) -> None:
    saved.with_name("a.log").write_text(LOG)


def started(
    tmp_path: Path, *args: str, code: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        "-c",
        f"{code}\nimport runpy; runpy.run_module('tritonwin', run_name='__main__')",
        *args,
    ]
    return subprocess.run(
        words, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False, timeout=120,
        env={**os.environ, "TRITONWIN_HOME": str(tmp_path / "home"), **variables},
    )  # fmt: skip


# standard output is /dev/full
FULL = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
# no file may grow beyond this, as on a disk with so much room
SMALL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))"
ANSWERS = [
    ("doctor", "--snapshot", "facts.json"),
    ("doctor", "--snapshot", "facts.json", "--markdown"),
    ("explain", "a.log"),
    ("matrix",),
    ("--version",),
]
PLAIN = {"--version", "--markdown"}


@full
@pytest.mark.parametrize("args", ANSWERS, ids=" ".join)
def test_an_answer_that_cannot_be_written(tmp_path: Path, args: tuple[str, ...]) -> None:
    as_json = () if PLAIN & set(args) else ("--json",)
    for line, unbuffered in ((args, "1"), ((*args, *as_json), "")):
        done = started(tmp_path, *line, code=FULL, PYTHONUNBUFFERED=unbuffered)
        assert done.returncode == Exit.INTERNAL, done
        said = done.stderr.splitlines()
        assert said[0].startswith("error: the disk is full: the answer cannot be written"), said
        assert said[1].startswith("help:  What is written there is not whole.")
        assert len(said) == 2


@full
def test_who_changed_something_hears_where_that_is_seen(tmp_path: Path) -> None:
    done = started(tmp_path, "undo", "--list", "--json", code=FULL)
    assert done.returncode == Exit.INTERNAL
    assert "tritonwin undo --list" in done.stderr


@posix
@pytest.mark.parametrize(
    ("file", "args"),
    [
        ("page.html", ("doctor", "--snapshot", "facts.json", "--html", "page.html")),
        ("out.json", ("snapshot", "--python", sys.executable, "-o", "out.json")),
        ("a.bat", ("run", "--python", sys.executable, "--write-bat", "a.bat", "--", "b.py")),
    ],
)
def test_no_part_of_a_file_lies_under_its_name(
    tmp_path: Path, file: str, args: tuple[str, ...]
) -> None:
    names = {p.name for p in tmp_path.iterdir()} | {"home"}
    for there in (False, True):
        if there:
            started(tmp_path, *args)
        before = (tmp_path / file).read_bytes() if there else None
        done = started(tmp_path, *args, code=SMALL)
        assert done.returncode == Exit.USAGE, done
        assert file in done.stderr
        assert "help:  " in done.stderr
        assert ((tmp_path / file).read_bytes() if there else None) == before
        assert {p.name for p in tmp_path.iterdir()} <= names | ({file} if there else set())


@full
def test_a_device_stays_one(tmp_path: Path) -> None:
    for device, status in (("/dev/null", Exit.PROBLEMS), ("/dev/full", Exit.USAGE)):
        done = started(tmp_path, "doctor", "--snapshot", "facts.json", "--html", device)
        assert done.returncode == status, done
        assert Path(device).is_char_device()


@posix
def test_what_is_replaced_keeps_its_rights_and_its_links(tmp_path: Path) -> None:
    file, link = tmp_path / "page.html", tmp_path / "link.html"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file.name)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.glob("*.html")) == ["link.html", "page.html"]
    assert not list(tmp_path.glob("*.tmp"))


@full
@pytest.mark.parametrize("args", [("nonsense", "--json"), ("doctor", "--python", "/no", "--json")])
def test_a_refusal_that_cannot_be_written_as_json_is_said(
    tmp_path: Path, args: tuple[str, ...]
) -> None:
    done = started(tmp_path, *args, code=FULL)
    assert done.returncode == Exit.USAGE
    assert done.stderr.startswith("error: ")


def test_json_is_for_us_alone(tmp_path: Path) -> None:
    done = started(tmp_path, "run", "--python", "/no", "--", "main.py", "--json")
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    assert "/no" in done.stderr


def test_an_argument_that_windows_refuses_elsewhere_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of standard output it means that the reader left; a write to any other file has failed."""
    monkeypatch.setattr(endings, "os", SimpleNamespace(name="nt", environ=os.environ))
    error = OSError(errno.EINVAL, "Invalid argument")
    assert endings.failed(["install", "x"], error) == Exit.INTERNAL
    assert "Invalid argument" in capsys.readouterr().err

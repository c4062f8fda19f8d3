"""The source comes to its folder whole, with nothing that must not be there, and bounded in size."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from build_plans import NOBODY, laid_down, plan
from trees import write

from tritonwin.build import runner, source
from tritonwin.build.records import BuildSource, SourceEdit
from tritonwin.build.source import BuildContext
from tritonwin.errors import UserError
from tritonwin.support import archives
from tritonwin.support.addresses import DownloadError
from tritonwin.support.download import NotFoundError
from tritonwin.support.sources import Sources, locate
from tritonwin.support.wheel_choice import FileSource

FILES = {
    "x-1.0/setup.py": "setup()",
    "x-1.0/csrc/a.cu": "kernel",
    "x-1.0/big/deep/b": "skipped",
    "x-1.0/bigger": "needed",
}
MIB = 2**20


def tar(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    """An archive of these files, of the day after tomorrow, with the links before them."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755
            info.mtime = int(time.time()) + 10**6
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def member(size: int, kind: bytes = tarfile.REGTYPE, content: int = 10240) -> bytes:
    """An archive of one member with that size in its header."""
    info = tarfile.TarInfo("x/a")
    info.type, info.size = kind, size
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(content))


def a_tar(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    file = folder / "x.tar.gz"
    file.write_bytes(tar({name: text.encode() for name, text in files.items()}))
    return file


def prepare(tmp_path: Path, *, kind: str = "sdist", location: Path, **fields: Any) -> Path:
    made = laid_down(tmp_path / "root", kind=kind, location=str(location), **fields)
    return made.layout.source


def test_an_archive_is_a_source(tmp_path: Path) -> None:
    archive = a_tar(tmp_path)
    to = prepare(tmp_path, location=archive, skip=("big",))
    found = {p.relative_to(to).as_posix() for p in to.rglob("*") if p.is_file()}
    assert found == {"setup.py", "csrc/a.cu", "bigger"}
    # a file from the future would be compiled again in every run
    assert (to / "csrc/a.cu").stat().st_mtime <= time.time() + 2
    assert os.name == "nt" or os.access(to / "setup.py", os.X_OK)


LINKS = ("setup.py", "csrc", "/etc/passwd", "../../secret", "gone")
ELSEWHERE = ("x/../../evil", "/etc/evil", "x/..", "x\\..\\..\\evil", "x/C:evil", "../evil")
REFUSED: list[tuple[str, dict[str, int], Callable[[], bytes], str]] = [
    ("zeros", {}, lambda: tar({"x/zeros": bytes(80 * MIB)}), "unpack to more than 64 MiB"),
    ("too much together", {"MOST_BYTES": 3 * MIB},
     lambda: tar({f"x/{n}": os.urandom(MIB) for n in range(4)}), "unpack to more than 3 MiB"),
    ("too many", {"MOST_MEMBERS": 9}, lambda: tar({f"x/{n}": b"" for n in range(10)}),
     "more than 9 files"),
    ("a large one", {"LARGEST": 2 * MIB}, lambda: tar({"x/a": os.urandom(3 * MIB)}),
     "x/a is too large: 3 MiB, and a file may have 2"),
    # 10 TB are refused without looking for them
    ("a size that is a lie", {}, lambda: member(10 * 2**40), "is too large"),
    # a member's head is read whole; 100 MiB of zeros are 100 KiB
    ("an endless name", {}, lambda: member(100 * MIB, tarfile.XHDTYPE, 100 * MIB), "is too long"),
    ("an endless GNU name", {}, lambda: member(100 * MIB, tarfile.GNUTYPE_LONGNAME, 100 * MIB),
     "a name in it is too long"),
    # what was begun is removed when the rest is damaged
    ("cut off", {}, lambda: tar({f"x/{n}": os.urandom(100_000) for n in range(9)})[:300_000],
     "cannot be unpacked"),
    ("nothing", {}, lambda: b"", "cannot be unpacked"),
    ("no archive", {}, lambda: b"no archive", "cannot be unpacked"),
    ("no gzip", {}, lambda: b"\x1f\x8b" + b"\0" * 50, "cannot be unpacked"),
    *((f"a link to {to}", {}, lambda to=to: tar({"x/setup.py": b""}, {"x/big/link": to}),
       "x/big/link is a link") for to in LINKS),
    *((f"a member {name}", {}, lambda name=name: tar({name: b"evil"}), "outside")
      for name in ELSEWHERE),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "made", "why"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])  # fmt: skip
def test_an_archive_that_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limits: dict[str, int],
    made: Callable[[], bytes],
    why: str,
) -> None:
    """With a way out, and nothing of it stays."""
    for name, value in limits.items():
        monkeypatch.setattr(archives, name, value)
    (tmp_path / "x.tar.gz").write_bytes(made())
    with pytest.raises(UserError, match=why) as caught:
        prepare(tmp_path, location=tmp_path / "x.tar.gz")
    assert caught.value.help
    assert list((tmp_path / "root").iterdir()) == []
    assert not list(tmp_path.rglob("evil"))


def test_a_link_of_what_is_skipped_refuses_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(tar({"x/setup.py": b""}, {"x/big/link": "gone"}))
    made = prepare(tmp_path, location=tmp_path / "x.tar.gz", skip=("big",))
    assert (made / "setup.py").is_file()


def test_a_folder_that_cannot_be_copied_is_no_failure_of_ours(tmp_path: Path) -> None:
    write(tmp_path / "mine", {"setup.py": ""})
    write(tmp_path / "root", {"s": "a file in the place of the folder"})
    with pytest.raises(UserError, match="cannot be copied") as refused:
        prepare(tmp_path, kind="folder", location=tmp_path / "mine")
    assert "disk has room" in refused.value.help


def test_a_build_folder_that_cannot_be_made(tmp_path: Path) -> None:
    write(tmp_path, {"file": ""})
    with pytest.raises(UserError, match="cannot be made") as refused:
        runner.build(plan(tmp_path / "file/root"), NOBODY)
    assert "--root" in refused.value.help


def test_what_was_unpacked_stays(tmp_path: Path) -> None:
    archive = a_tar(tmp_path)
    to = prepare(tmp_path, location=archive)
    before = (to / "csrc/a.cu").stat().st_mtime_ns
    (to / "csrc/a.o").write_text("hours of work")
    archive.unlink()
    prepare(tmp_path, location=archive)
    assert (to / "csrc/a.o").read_text() == "hours of work"
    assert (to / "csrc/a.cu").stat().st_mtime_ns == before


def test_a_file_of_another_content_is_not_replaced_in_silence(tmp_path: Path) -> None:
    archive = a_tar(tmp_path)
    with pytest.raises(UserError, match="another hash") as refused:
        prepare(tmp_path, location=archive, sha256="0" * 64)
    assert "Rename it" in refused.value.help


def test_what_is_no_project_is_told_before_an_environment_is_made(tmp_path: Path) -> None:
    archive = a_tar(tmp_path, {"x/readme": ""})
    made = plan(tmp_path / "root", source=BuildSource(kind="sdist", location=str(archive)))
    with pytest.raises(UserError, match=r"holds neither setup\.py nor") as refused:
        runner.build(made, NOBODY)
    assert "--source DIR" in refused.value.help
    assert not made.layout.venv.exists()


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["s", "v", "t", "dist"])
def test_a_link_in_the_build_folder_has_nothing_of_others_changed(
    tmp_path: Path, name: str, resume: bool
) -> None:
    write(tmp_path, {"theirs/a.whl": "a wheel", "theirs/setup.py": "theirs", "root/x": ""})
    made = plan(tmp_path / "root", source=BuildSource(kind="folder", location=str(tmp_path / "m")))
    write(tmp_path, {"m/readme": "no project"})
    (tmp_path / "root" / name).symlink_to(tmp_path / "theirs")
    with pytest.raises(UserError, match=r"holds neither setup\.py nor"):
        runner.build(made, NOBODY, resume=resume)
    theirs = {p.name: p.read_text() for p in (tmp_path / "theirs").iterdir()}
    assert theirs == {"a.whl": "a wheel", "setup.py": "theirs"}
    assert not (tmp_path / "root" / name).is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders here")
def test_a_pipe_is_no_wheel(tmp_path: Path) -> None:
    made = plan(tmp_path / "root")
    made.layout.dist.mkdir(parents=True)
    os.mkfifo(made.layout.dist / "x-1-py3-none-any.whl")
    with pytest.raises(UserError, match="holds 0 wheels"):
        runner._wheel(made, tmp_path / "log")


def test_half_unpacked_is_begun_again(tmp_path: Path) -> None:
    write(tmp_path, {"root/s.part/csrc/stale.cu": "of a run that was killed"})
    to = prepare(tmp_path, location=a_tar(tmp_path))
    assert not (to / "csrc/stale.cu").exists()


def test_of_a_folder_changed_files_alone_are_copied(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"mine/setup.py": "setup()", "mine/a.cu": "a", "mine/b.cu": "b", "mine/skip/c": ""},
    )
    to = prepare(tmp_path, kind="folder", location=tmp_path / "mine", skip=("skip",))
    assert not (to / "skip").exists()
    for path in to.iterdir():
        os.utime(path, (1, 1))
    (tmp_path / "mine/b.cu").write_text("better")
    prepare(tmp_path, kind="folder", location=tmp_path / "mine", skip=("skip",))
    assert {p.name for p in to.iterdir() if p.stat().st_mtime != 1} == {"b.cu"}


def test_a_folder_is_not_copied_into_itself(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="into its own source"):
        prepare(tmp_path, kind="folder", location=tmp_path)
    with pytest.raises(UserError, match="no folder"):
        prepare(tmp_path, kind="folder", location=tmp_path / "none")


EDIT = SourceEdit(file="setup.py", find='"-O3",\n"-std=c++17"', replace='"-std=c++20"', reason="")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", ["sdist", "folder"])
def test_edits(tmp_path: Path, kind: str, end: str) -> None:
    text = f'flags = ["-O3",{end}"-std=c++17"]{end}'
    location = tmp_path / "mine"
    write(location, {"setup.py": text.encode()})
    if kind == "sdist":
        location = a_tar(tmp_path, {"x/setup.py": text})
    for _ in range(2):  # the second time as a resumed build does
        to = prepare(tmp_path, kind=kind, location=location, edits=(EDIT,))
        assert (to / "setup.py").read_bytes() == f'flags = ["-std=c++20"]{end}'.encode()


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("files", [{"x/setup.py": "other"}, {"x/a": ""}])
def test_an_edit_that_finds_nothing(tmp_path: Path, files: dict[str, str], required: bool) -> None:
    edit = SourceEdit(file="setup.py", find="-std=c++17", replace="", reason="", required=required)
    location = a_tar(tmp_path, files)
    if required:
        with pytest.raises(UserError, match="which the recipe has to change"):
            prepare(tmp_path, location=location, edits=(edit,))
    else:
        assert prepare(tmp_path, location=location, edits=(edit,)).is_dir()


def test_a_file_is_taken_from_a_folder_when_its_hash_is_right(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.whl": "wrong", "b/x.whl": "right"})
    sha256 = hashlib.sha256(b"right").hexdigest()
    cache = BuildContext(pip=NOBODY.pip, folders=(tmp_path / "a", tmp_path / "b"), offline=True)
    right = FileSource(name="x", location="x.whl", sha256=sha256)
    assert cache.obtain(right, tmp_path / "into") == tmp_path / "b/x.whl"
    with pytest.raises(DownloadError, match="nothing may be fetched"):
        cache.obtain(FileSource(name="x", location="x.whl", sha256="0" * 64), tmp_path / "into")
    online = BuildContext(pip=NOBODY.pip)
    url = (tmp_path / "b/x.whl").as_uri()
    there = FileSource(name="x", location=url, sha256=sha256)
    assert online.obtain(there, tmp_path / "into").read_text() == "right"
    with pytest.raises(DownloadError, match="has the hash"):
        online.obtain(FileSource(name="x", location=url, sha256="0" * 64), tmp_path / "more")
    assert not (tmp_path / "more/x.whl").exists()


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (
            '{"files": [{"filename": "x-1.tar.gz", "url": "https://h/p/x-1.tar.gz"}]}',
            "https://h/p/x-1.tar.gz",
        ),
        ('<a href="../p/x-1.tar.gz#md5=00">x-1.tar.gz</a>', "p/x-1.tar.gz"),
        ('<a href="xx-1.tar.gz"> <a href="x-1.tar.gz.asc">', None),
        ("", None),
    ],
)
def test_the_address_of_a_file_in_an_index(tmp_path: Path, page: str, found: str | None) -> None:
    write(tmp_path, {"x/index.html": page})
    address = locate("x", "x-1.tar.gz", Sources(indexes=(tmp_path.as_uri(),)))
    assert (address or "").endswith(found or "")
    assert (address is None) is (found is None)


def test_no_index_has_it(tmp_path: Path) -> None:
    cache = BuildContext(pip=NOBODY.pip)
    vars(cache)["indexes"] = Sources(indexes=(tmp_path.as_uri(),))
    with pytest.raises(NotFoundError, match="no index"):
        cache.obtain(FileSource(name="x", location="x.whl", sha256="0" * 64), tmp_path / "into")


# --- links of a folder: what they lead to is copied, and never written to

links = pytest.mark.skipif(os.name == "nt", reason="Wine makes no links")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    write(folder, {"setup.py": "", "csrc/a.cu": "a", "csrc/deep/b.cu": "b", "csrc/other/c.cu": "c",
                   "build/lib/old.o": ""})  # fmt: skip
    write(tmp_path / "elsewhere", {"large.bin": "large", "picture.png": "picture"})
    for name, target in {
        "inner": "csrc/deep",
        "csrc/up": "..",
        "csrc/deep/sibling": "../other",
        "through": "inner",
        "nowhere": "../gone",
        "round": "round",
        "file.cu": "csrc/a.cu",
        "picture.png": str(tmp_path / "elsewhere/picture.png"),
    }.items():
        (folder / name).symlink_to(target)
    return folder


def copied(mine: Path, to: Path) -> dict[str, str]:
    source.copy(mine, to, source.NOT_COPIED, ())
    files = [path for path in to.rglob("*") if not path.is_dir()]
    assert not any(path.is_symlink() for path in to.rglob("*"))
    return {path.relative_to(to).as_posix(): path.read_text() for path in files}


@links
def test_what_a_link_leads_to_is_copied(tmp_path: Path, mine: Path) -> None:
    for _ in range(2):  # the second time as a resumed build does
        found = copied(mine, tmp_path / "copy")
        assert found == {
            "setup.py": "", "csrc/a.cu": "a", "csrc/deep/b.cu": "b", "csrc/other/c.cu": "c",
            "inner/b.cu": "b", "through/b.cu": "b", "csrc/deep/sibling/c.cu": "c",
            "inner/sibling/c.cu": "c", "through/sibling/c.cu": "c",
            "file.cu": "a", "picture.png": "picture",
        }  # fmt: skip


@links
@pytest.mark.parametrize("target", ["..", "../elsewhere", "{elsewhere}", "/"])
def test_a_link_to_a_folder_elsewhere_is_refused(tmp_path: Path, mine: Path, target: str) -> None:
    (mine / "out").symlink_to(target.format(elsewhere=tmp_path / "elsewhere"))
    with pytest.raises(UserError, match="out leads out of the source") as refused:
        copied(mine, tmp_path / "copy")
    assert "folder itself" in refused.value.help


@links
def test_an_edit_is_made_in_the_copy(tmp_path: Path, mine: Path) -> None:
    (mine / "mine.txt").symlink_to("../elsewhere/large.bin")
    edits = (SourceEdit(file="mine.txt", find="large", replace="small", reason=""),)
    made = laid_down(tmp_path / "root", kind="folder", location=str(mine), edits=edits)
    assert (made.layout.source / "mine.txt").read_text() == "small"
    assert (tmp_path / "elsewhere/large.bin").read_text() == "large"


@links
def test_a_virtual_environment_is_not_part_of_a_source(tmp_path: Path, mine: Path) -> None:
    write(mine, {".venv/pyvenv.cfg": "", ".venv/lib/torch/large.so": "", "tools/env/pyvenv.cfg": "",
                 "tools/env/x": "", "tools/y": ""})  # fmt: skip
    found = copied(mine, tmp_path / "copy")
    assert [name for name in found if "venv" in name or "tools" in name] == ["tools/y"]


@links
def test_what_is_no_file_holds_nothing_up(tmp_path: Path, mine: Path) -> None:
    os.mkfifo(mine / "pipe")
    assert "pipe" not in copied(mine, tmp_path / "copy")

"""The source comes to its folder whole, and with nothing that must not be there."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from build_plans import plan
from trees import write

from tritonwin.build import runner, source
from tritonwin.build.copying import SourceError
from tritonwin.build.plan import BuildSource, SourceEdit
from tritonwin.build.runner import RunContext
from tritonwin.build.source import SourceCache, address_in
from tritonwin.errors import UserError
from tritonwin.support.download import DownloadError, NotFoundError
from tritonwin.support.pip import Pip
from tritonwin.system.host import Host

NOBODY = Pip(("/nowhere",))


def sdist(path: Path, files: dict[str, str], *, links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(text), int(time.time()) + 10**6, 0o755
            tar.addfile(info, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return path


def prepare(tmp_path: Path, cache: SourceCache | None = None, **fields: Any) -> Path:
    edits = fields.pop("edits", ())
    made = plan(tmp_path / "root", source=BuildSource(**fields), edits=edits)
    (tmp_path / "root").mkdir(parents=True, exist_ok=True)
    source.prepare(made, cache or SourceCache(pip=NOBODY, offline=True), Host.this_machine())
    return made.layout.source


FILES = {
    "x-1.0/setup.py": "setup()",
    "x-1.0/csrc/a.cu": "kernel",
    "x-1.0/csrc/composable_kernel/deep/b.hpp": "not needed",
    "x-1.0/csrc/composable_kernels.txt": "needed",
}


def test_an_sdist_without_what_is_skipped(tmp_path: Path) -> None:
    archive = sdist(tmp_path / "x.tar.gz", FILES, links={"x-1.0/link.py": "setup.py"})
    to = prepare(tmp_path, kind="sdist", location=str(archive), skip=("csrc/composable_kernel",))
    found = {p.relative_to(to).as_posix() for p in to.rglob("*") if p.is_file()}
    assert found == {"setup.py", "csrc/a.cu", "csrc/composable_kernels.txt", "link.py"}
    assert (to / "link.py").read_text() == "setup()"
    assert not (to / "link.py").is_symlink()
    # a file from the future would be compiled again in every run
    assert (to / "csrc/a.cu").stat().st_mtime <= time.time() + 2
    assert os.name == "nt" or os.access(to / "setup.py", os.X_OK)


def test_a_folder_that_cannot_be_copied_is_no_failure_of_ours(tmp_path: Path) -> None:
    write(tmp_path / "mine", {"setup.py": ""})
    write(tmp_path / "root", {"s": "a file in the place of the folder"})
    with pytest.raises(SourceError, match="cannot be copied") as refused:
        prepare(tmp_path, kind="folder", location=str(tmp_path / "mine"))
    assert "disk has room" in refused.value.help


def test_a_build_folder_that_cannot_be_made(tmp_path: Path) -> None:
    write(tmp_path, {"file": ""})
    context = RunContext(host=Host.this_machine(),
                      cache=SourceCache(pip=NOBODY, offline=True))  # fmt: skip
    with pytest.raises(UserError, match="cannot be made") as refused:
        runner.build(plan(tmp_path / "file/root"), context)
    assert "--root" in refused.value.help


def test_what_was_unpacked_stays(tmp_path: Path) -> None:
    archive = sdist(tmp_path / "x.tar.gz", FILES)
    to = prepare(tmp_path, kind="sdist", location=str(archive))
    before = (to / "csrc/a.cu").stat().st_mtime_ns
    (to / "csrc/a.o").write_text("hours of work")
    archive.unlink()
    prepare(tmp_path, kind="sdist", location=str(archive))
    assert (to / "csrc/a.o").read_text() == "hours of work"
    assert (to / "csrc/a.cu").stat().st_mtime_ns == before


def test_a_file_of_another_content_is_not_replaced_in_silence(tmp_path: Path) -> None:
    archive = sdist(tmp_path / "x.tar.gz", FILES)
    with pytest.raises(SourceError, match="another hash") as refused:
        prepare(tmp_path, kind="sdist", location=str(archive), sha256="0" * 64)
    assert "Rename it" in refused.value.help


def test_what_is_no_project_is_told_before_an_environment_is_made(tmp_path: Path) -> None:
    archive = sdist(tmp_path / "x.tar.gz", {"x/readme": ""})
    made = plan(tmp_path / "root", source=BuildSource(kind="sdist", location=str(archive)))
    context = RunContext(host=Host.this_machine(),
                      cache=SourceCache(pip=NOBODY, offline=True))  # fmt: skip
    with pytest.raises(UserError, match=r"holds neither setup\.py nor") as refused:
        runner.build(made, context)
    assert "--source DIR" in refused.value.help
    assert not made.layout.venv.exists()


def test_half_unpacked_is_begun_again(tmp_path: Path) -> None:
    write(tmp_path, {"root/s.part/csrc/stale.cu": "of a run that was killed"})
    to = prepare(tmp_path, kind="sdist", location=str(sdist(tmp_path / "x.tar.gz", FILES)))
    assert not (to / "csrc/stale.cu").exists()


@pytest.mark.parametrize(
    "name", ["x/../../evil", "/etc/evil", "x/..", "x\\..\\..\\evil", "x/C:evil", "../evil"]
)
def test_a_member_that_would_land_elsewhere(tmp_path: Path, name: str) -> None:
    archive = sdist(tmp_path / "x.tar.gz", {name: "evil"})
    with pytest.raises(SourceError, match="outside"):
        prepare(tmp_path, kind="sdist", location=str(archive))
    assert not list(tmp_path.rglob("evil"))
    assert not (tmp_path / "root/s").exists()


def test_links_out_of_the_archive_bring_nothing_in(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("private")
    archive = sdist(
        tmp_path / "x.tar.gz", FILES, links={"x-1.0/a": str(secret), "x-1.0/b": "../../secret"}
    )
    with pytest.raises(SourceError, match="outside"):
        prepare(tmp_path, kind="sdist", location=str(archive))
    assert not any(
        "private" in p.read_text() for p in (tmp_path / "root").rglob("*") if p.is_file()
    )


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b" + b"\0" * 50])
def test_no_archive(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar.gz").write_bytes(content)
    with pytest.raises(SourceError, match="cannot be unpacked"):
        prepare(tmp_path, kind="sdist", location=str(tmp_path / "x.tar.gz"))


def test_of_a_folder_changed_files_alone_are_copied(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"mine/setup.py": "setup()", "mine/a.cu": "a", "mine/b.cu": "b", "mine/skip/c": ""},
    )
    to = prepare(tmp_path, kind="folder", location=str(tmp_path / "mine"), skip=("skip",))
    assert not (to / "skip").exists()
    for path in to.iterdir():
        os.utime(path, (1, 1))
    (tmp_path / "mine/b.cu").write_text("better")
    prepare(tmp_path, kind="folder", location=str(tmp_path / "mine"), skip=("skip",))
    assert {p.name for p in to.iterdir() if p.stat().st_mtime != 1} == {"b.cu"}


def test_a_folder_is_not_copied_into_itself(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="into its own source"):
        prepare(tmp_path, kind="folder", location=str(tmp_path))
    with pytest.raises(SourceError, match="no folder"):
        prepare(tmp_path, kind="folder", location=str(tmp_path / "none"))


EDIT = SourceEdit(file="setup.py", find='"-O3",\n"-std=c++17"', replace='"-std=c++20"', reason="")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", ["sdist", "folder"])
def test_edits(tmp_path: Path, kind: str, end: str) -> None:
    text = f'flags = ["-O3",{end}"-std=c++17"]{end}'
    location = tmp_path / "x.tar.gz"
    if kind == "sdist":
        sdist(location, {"x/setup.py": text})
    else:
        location = tmp_path / "mine"
        location.mkdir()
        (location / "setup.py").write_bytes(text.encode())
    for _ in range(2):  # the second time as a resumed build does
        to = prepare(tmp_path, kind=kind, location=str(location), edits=(EDIT,))
        assert (to / "setup.py").read_bytes() == f'flags = ["-std=c++20"]{end}'.encode()


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("files", [{"x/setup.py": "other"}, {"x/a": ""}])
def test_an_edit_that_finds_nothing(tmp_path: Path, files: dict[str, str], required: bool) -> None:
    edit = SourceEdit(file="setup.py", find="-std=c++17", replace="", reason="", required=required)
    location = str(sdist(tmp_path / "x.tar.gz", files))
    if required:
        with pytest.raises(SourceError, match="which the recipe has to change"):
            prepare(tmp_path, kind="sdist", location=location, edits=(edit,))
    else:
        assert prepare(tmp_path, kind="sdist", location=location, edits=(edit,)).is_dir()


def test_a_file_is_taken_from_a_folder_when_its_hash_is_right(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.whl": "wrong", "b/x.whl": "right"})
    sha256 = hashlib.sha256(b"right").hexdigest()
    cache = SourceCache(pip=NOBODY, folders=(tmp_path / "a", tmp_path / "b"), offline=True)
    assert cache.obtain("x", "x.whl", sha256, tmp_path / "into") == tmp_path / "b/x.whl"
    with pytest.raises(DownloadError, match="nothing may be fetched"):
        cache.obtain("x", "x.whl", "0" * 64, tmp_path / "into")
    online = SourceCache(pip=NOBODY)
    url = (tmp_path / "b/x.whl").as_uri()
    assert online.obtain("x", "x.whl", sha256, tmp_path / "into", url).read_text() == "right"
    with pytest.raises(DownloadError, match="has the hash"):
        online.obtain("x", "x.whl", "0" * 64, tmp_path / "more", url)
    assert not (tmp_path / "more/x.whl").exists()


@pytest.mark.parametrize(
    ("page", "address"),
    [
        (
            '{"files": [{"filename": "x-1.tar.gz", "url": "https://h/p/x-1.tar.gz"}]}',
            "https://h/p/x-1.tar.gz",
        ),
        ('<a href="../../p/x-1.tar.gz#sha256=00">x-1.tar.gz</a>', "../../p/x-1.tar.gz"),
        ("<a href='x-1.tar.gz'>x</a>", "x-1.tar.gz"),
        ('<a href="https://h/x-1.tar.gz?a=1&amp;b=2">', None),
        ('<a href="xx-1.tar.gz"> <a href="x-1.tar.gz.asc">', None),
        ("", None),
    ],
)
def test_the_address_of_a_file_on_an_index_page(page: str, address: str | None) -> None:
    assert address_in(page, "x-1.tar.gz") == address


def test_no_index_has_it(tmp_path: Path) -> None:
    cache = SourceCache(pip=NOBODY)
    vars(cache)["places"] = type("Places", (), {"index": tmp_path.as_uri(), "extra_indexes": ()})()
    with pytest.raises(NotFoundError, match="no index"):
        cache.obtain("x", "x.whl", "0" * 64, tmp_path / "into")

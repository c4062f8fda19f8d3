"""Archives given as a source: bounded in what comes out of them, and whole, links included."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import machines
import pytest
from build_plans import plan

from tritonwin.build import source
from tritonwin.build.copying import SourceError
from tritonwin.build.order import Order
from tritonwin.build.plan import BuildSource
from tritonwin.build.planner import plan as planned
from tritonwin.build.source import SourceCache
from tritonwin.support import archives
from tritonwin.support.archives import Allowance, TooMuchError
from tritonwin.support.pip import Pip
from tritonwin.system.host import Host

NOBODY = SourceCache(pip=Pip(("/nowhere",)), offline=True)
FILES = {"x-1.0/setup.py": b"setup()", "x-1.0/csrc/a.cu": b"kernel", "x-1.0/big/b": b"skipped"}
MIB = 2**20


def a_tar(file: Path, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> Path:
    file = file.with_name("x.tar.gz")
    with tarfile.open(file, "w:gz") as tar:
        for name, target in (links or {}).items():  # before what they lead to
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
    return file


def a_zip(file: Path, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> Path:
    file = file.with_name("x.zip")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            made.writestr(info, target)
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | 0o755) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(info, content)
    return file


MAKERS = [a_tar, a_zip]
Maker = Callable[..., Path]


def prepare(tmp_path: Path, archive: Path, skip: tuple[str, ...] = ("big",)) -> Path:
    made = plan(
        tmp_path / "root", source=BuildSource(kind="sdist", location=str(archive), skip=skip)
    )
    made.layout.root.mkdir(exist_ok=True)
    source.prepare(made, NOBODY, Host.this_machine())
    return made.layout.source


def refused(tmp_path: Path, archive: Path, why: str) -> str:
    """The help, where the archive is refused and nothing of it stays."""
    with pytest.raises(SourceError, match=why) as caught:
        prepare(tmp_path, archive)
    assert list((tmp_path / "root").iterdir()) == []
    assert caught.value.help
    return caught.value.help


@pytest.mark.parametrize("make", MAKERS)
def test_a_file_of_either_kind_is_a_source(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "x", FILES)
    machine = machines.linux(tmp_path)
    made = planned(Order(recipe="cuda-extension", source=str(archive)), machine)
    assert (made.source.kind, made.source.location) == ("sdist", str(archive))
    to = prepare(tmp_path, archive)
    found = {p.relative_to(to).as_posix() for p in to.rglob("*") if p.is_file()}
    assert found == {"setup.py", "csrc/a.cu"}
    assert os.name == "nt" or os.access(to / "setup.py", os.X_OK)


@pytest.mark.parametrize("make", MAKERS)
def test_more_zeros_than_an_archive_may_hold(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "x", {"x/zeros": bytes(80 * MIB)})
    assert archive.stat().st_size < MIB
    assert "--source DIR" in refused(tmp_path, archive, "would unpack to more than 64 MiB")


@pytest.mark.parametrize("make", MAKERS)
def test_many_files_that_are_too_much_together(
    tmp_path: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 3 * MIB)
    archive = make(tmp_path / "x", {f"x/{n}": os.urandom(MIB) for n in range(4)})
    refused(tmp_path, archive, "would unpack to more than 3 MiB")


@pytest.mark.parametrize("make", MAKERS)
def test_more_files_than_any_source_has(
    tmp_path: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 9)
    refused(tmp_path, make(tmp_path / "x", {f"x/{n}": b"" for n in range(10)}), "more than 9 files")


@pytest.mark.parametrize("make", MAKERS)
def test_a_file_that_is_too_large(
    tmp_path: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LARGEST", 2 * MIB)
    archive = make(tmp_path / "x", {"x/a": os.urandom(3 * MIB)})
    refused(tmp_path, archive, "x/a is too large: 3 MiB, and a file may have 2")


def test_a_size_that_is_a_lie(tmp_path: Path) -> None:
    """A header of 10 TB is refused without looking for them."""
    info = tarfile.TarInfo("x/a")
    info.size = 10 * 2**40
    file = tmp_path / "x.tar.gz"
    file.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(10240)))
    refused(tmp_path, file, "is too large")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_name_without_end(tmp_path: Path, kind: bytes) -> None:
    """What stands before a member is read whole; 100 MiB of zeros are 100 KiB."""
    info = tarfile.TarInfo("x/a")
    info.type, info.size = kind, 100 * MIB
    file = tmp_path / "x.tar.gz"
    file.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(100 * MIB)))
    refused(tmp_path, file, "a name in it is too long")


def test_what_is_skipped_counts_as_well(tmp_path: Path) -> None:
    """It has to be unpacked to get past it."""
    archive = a_tar(tmp_path / "x", {"x/big/zeros": bytes(80 * MIB)})
    refused(tmp_path, archive, "would unpack to more than")


@pytest.mark.parametrize("packed", [0, 1, MIB, 2**50])
def test_what_may_come_out(packed: int) -> None:
    allowance = Allowance(packed)
    assert archives.SMALL <= allowance.bytes <= archives.MOST_BYTES
    one = min(allowance.bytes, archives.LARGEST)
    for _ in range(allowance.bytes // one):
        allowance.take("a", one)
    with pytest.raises(TooMuchError):
        allowance.take("b", one)


LINKS = {
    "x-1.0/link.py": "setup.py",
    "x-1.0/again.py": "link.py",
    "x-1.0/include": "csrc",
    "x-1.0/csrc/up": "..",
    "x-1.0/through.cu": "include/a.cu",
    "x-1.0/of_skipped": "big/b",
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.skipif(os.name == "nt", reason="Wine makes no links")
def test_links_of_an_archive(tmp_path: Path, make: Maker) -> None:
    to = prepare(tmp_path, make(tmp_path / "x", FILES, LINKS))
    for name, text in (("link.py", "setup()"), ("again.py", "setup()"), ("through.cu", "kernel")):
        assert not (to / name).is_symlink()
        assert (to / name).read_text() == text
    assert (to / "include/a.cu").read_text() == "kernel"
    assert (to / "csrc/up/setup.py").read_text() == "setup()"
    assert not (to / "of_skipped").exists()
    assert os.path.realpath(to / "include").startswith(str(to))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("target", "why"),
    [("/etc/passwd", "outside"), ("//host/share", "outside"), ("../../secret", "outside"),
     ("C:/secret", "outside"), ("gone", "does not hold"), ("bad", "does not hold"),
     ("../other/secret", "does not hold")],
)  # fmt: skip
def test_a_link_to_what_is_not_in_the_archive(
    tmp_path: Path, make: Maker, target: str, why: str
) -> None:
    refused(tmp_path, make(tmp_path / "x", FILES, {"x-1.0/bad": target}), why)


@pytest.mark.parametrize("make", MAKERS)
def test_files_without_a_folder_around_them(tmp_path: Path, make: Maker) -> None:
    archive = make(tmp_path / "x", {"setup.py": b"", "csrc/a.cu": b""})
    assert "--source DIR" in refused(tmp_path, archive, "without a folder around it")


def test_what_was_begun_is_taken_away_when_the_rest_is_damaged(tmp_path: Path) -> None:
    archive = a_tar(tmp_path / "x", {f"x/{n}": os.urandom(100_000) for n in range(9)})
    archive.write_bytes(archive.read_bytes()[:300_000])
    refused(tmp_path, archive, "cannot be unpacked")

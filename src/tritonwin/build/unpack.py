"""Unpack the archive of a source: a tar, packed by gzip or not, or a zip.

Nothing lands outside of the folder, no link leads out of it, and what comes out is bounded.
"""

from __future__ import annotations

import gzip
import os
import posixpath
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from tritonwin.build.copying import SourceError, is_executable, skipped, write
from tritonwin.support.archives import DAMAGE, Allowance, TooMuchError, leads_out, opened
from tritonwin.system.files import is_file, is_folder

_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_LONGEST_NAME = 2**20  # bytes of a name and what else stands before a member
_MOST_HOPS = 40  # from link to link, as systems allow
_PROJECT = frozenset({"setup.py", "pyproject.toml"})
_BY_HAND = "Do not use this file, or unpack it by hand and name the folder: --source DIR"


@dataclass(frozen=True, kw_only=True)
class _Member:
    """A file or link of an archive. `content` can be read until the next member is asked for."""

    name: str
    content: IO[bytes] | None = None
    executable: bool = False
    link: str | None = None  # the member that it leads to, by its name in the archive


def unpack(archive: Path, to: Path, skip: Sequence[str] = ()) -> None:
    """Unpack an archive without its topmost folder.

    Args:
        skip: folders below that one that are left out, as POSIX paths.

    Raises:
        SourceError: no such archive, a member or link that would lead outside of `to`, or more
            than may come out of an archive of this size. What was unpacked until then stays.
    """
    try:
        with archive.open("rb") as stream:
            _unpack(archive, stream, to, skip)
    except FileNotFoundError:
        raise SourceError(
            f"there is no file {archive}", "Name the source distribution: --source FILE"
        ) from None
    except TooMuchError as error:
        raise SourceError(f"{archive}: {error}", _BY_HAND) from None
    except (OSError, *DAMAGE) as error:
        raise SourceError(
            f"{archive} cannot be unpacked: {error}",
            "Fetch it again, and see that the disk has room.",
        ) from None


def _unpack(archive: Path, stream: IO[bytes], to: Path, skip: Sequence[str]) -> None:
    allowance = Allowance(os.fstat(stream.fileno()).st_size)
    start = stream.read(2)
    stream.seek(0)
    links: dict[str, str] = {}
    for member in (_of_zip if start == _ZIP else _of_tar)(stream, allowance):
        place = _place(member.name, to, skip)
        if place is None:
            continue
        if member.link is not None:
            links[member.name] = member.link
        elif member.content is not None:
            write(member.content, place, executable=member.executable)
    _make_links(archive, links, to, skip, allowance)


def _of_tar(stream: IO[bytes], allowance: Allowance) -> Iterator[_Member]:
    packed = stream.read(2) == _GZIP
    stream.seek(0)
    plain = cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if packed else stream
    bounded = cast("IO[bytes]", _Bounded(plain, allowance))
    with tarfile.open(fileobj=bounded, mode="r:") as tar:
        for member in tar:
            allowance.take(member.name, member.size)
            if member.isfile():
                executable = bool(member.mode & stat.S_IXUSR)
                content = tar.extractfile(member)
                yield _Member(name=member.name, content=content, executable=executable)
            elif member.issym():
                yield _Member(name=member.name, link=_beside(member.name, member.linkname))
            elif member.islnk():
                yield _Member(name=member.name, link=_beside("", member.linkname))


class _Bounded:
    """The content of a packed file for tarfile: read forwards, and not beyond the bound."""

    def __init__(self, stream: IO[bytes], allowance: Allowance) -> None:
        self._stream = stream
        self._allowance = allowance

    def read(self, size: int) -> bytes:
        if size > _LONGEST_NAME:
            raise TooMuchError("a name in it is too long")
        self._check(self._stream.tell() + size)
        return self._stream.read(size)

    def seek(self, position: int) -> int:
        self._check(position)
        return self._stream.seek(position)

    def tell(self) -> int:
        return self._stream.tell()

    def _check(self, position: int) -> None:
        # each member takes a header, and its end is filled up: as much again at the worst
        if position > 2 * self._allowance.bytes:
            raise TooMuchError(self._allowance.too_much)


def _of_zip(stream: IO[bytes], allowance: Allowance) -> Iterator[_Member]:
    with zipfile.ZipFile(stream) as files:
        for info in files.infolist():
            if info.is_dir():
                continue
            allowance.take(info.filename, info.file_size)
            mode = info.external_attr >> 16
            with opened(files, info) as content:
                if stat.S_ISLNK(mode):
                    target = content.read(_LONGEST_NAME).decode("utf-8", "surrogateescape")
                    yield _Member(name=info.filename, link=_beside(info.filename, target))
                else:
                    executable = bool(mode & stat.S_IXUSR)
                    yield _Member(name=info.filename, content=content, executable=executable)


def _beside(name: str, target: str) -> str:
    """The target of a link as a name in its archive: below "a/b", "../c" is "a/c"."""
    return target if target.startswith("/") else posixpath.normpath(f"{name}/../{target}")


def _place(name: str, to: Path, skip: Sequence[str]) -> Path | None:
    """The place of a member; None for skipped ones, and for the topmost folder itself."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if leads_out(name):
        raise SourceError(
            f"the archive holds {name!r}, which would land outside its folder",
            "Do not use this file.",
        )
    if len(parts) == 1 and parts[0] in _PROJECT:
        raise SourceError(
            f"the archive holds {name} without a folder around it",
            "Unpack it by hand and name the folder: --source DIR",
        )
    inner = parts[1:]
    if not inner or skipped(PurePosixPath(*inner), skip):
        return None
    return to.joinpath(*inner)


def _make_links(
    archive: Path, links: Mapping[str, str], to: Path, skip: Sequence[str], allowance: Allowance
) -> None:
    """Link the folders that the links lead to, and copy the files; folders come first."""
    found = {
        place: _end(archive, name, links, to)
        for name in links
        if (place := _place(name, to, skip)) is not None
    }
    for place, end in sorted(found.items(), key=lambda link: not is_folder(link[1])):
        if is_folder(end):
            _link_folder(place, end, allowance)
        elif is_file(end):
            allowance.take(place.name, end.stat().st_size)
            with end.open("rb") as content:
                write(content, place, executable=is_executable(end))
        elif not skipped(PurePosixPath(end.relative_to(to).as_posix()), skip):
            name = place.relative_to(to).as_posix()
            raise SourceError(
                f"{archive}: the link {name} leads to what the archive does not hold", _BY_HAND
            )


def _end(archive: Path, name: str, links: Mapping[str, str], to: Path) -> Path:
    """The file or folder, not yet a link, that a link of the archive leads to."""
    end = name
    for _ in range(_MOST_HOPS):
        if end in links:
            end = links[end]
    if leads_out(end):
        raise SourceError(
            f"{archive}: the link {name} leads outside of the archive, to {end}", _BY_HAND
        )
    return to.joinpath(*PurePosixPath(end).parts[1:])


def _link_folder(place: Path, folder: Path, allowance: Allowance) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if os.name != "nt":
        place.symlink_to(os.path.relpath(folder, place.parent))
        return
    # Windows grants links to few
    if place.is_relative_to(folder):
        raise TooMuchError(f"{place.name} is a link to a folder that holds it")
    for path in folder.rglob("*"):
        allowance.take(path.name, path.stat().st_size)
    shutil.copytree(folder, place, copy_function=shutil.copyfile)

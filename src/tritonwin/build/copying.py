"""The source in the build folder: copied or unpacked, with the recipe's edits.

Files that have changed are copied. What a link leads to is copied in its place.
"""

from __future__ import annotations

import filecmp
import gzip
import io
import os
import shutil
import stat
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, cast

from tritonwin.build.plan import SourceEdit
from tritonwin.errors import UserError
from tritonwin.journal.disk import discard
from tritonwin.support.archives import DAMAGE, Allowance, TooMuchError, leads_out
from tritonwin.system.files import is_file, is_folder, long_path

_BLOCK = 64 * 1024
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_LONGEST_NAME = 2**20  # bytes of a name and what else stands before a member
_PROJECT = frozenset({"setup.py", "pyproject.toml"})
_BY_HAND = "Do not use this file, or unpack it by hand and name the folder: --source DIR"
# history, and what earlier builds left, which belongs to other toolkits
NOT_COPIED = (".git", "build", "dist", "python/build")
_ENVIRONMENT = "pyvenv.cfg"  # what marks a virtual environment, which no build needs
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT of winnt.h


class SourceError(UserError):
    """The source cannot be fetched, read or unpacked."""


def skipped(path: PurePosixPath, skip: Sequence[str]) -> bool:
    """True for a path below the root that is one of the folders, or in one of them."""
    return any(path == entry or entry in path.parents for entry in map(PurePosixPath, skip))


def write(content: IO[bytes], place: Path, *, executable: bool) -> None:
    """Write a file with the current time: one from the future would be compiled in every run."""
    target = long_path(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        shutil.copyfileobj(content, stream, _BLOCK)
    if executable and sys.platform != "win32":
        target.chmod(0o755)


def copy(source: Path, to: Path, skip: Sequence[str], edits: Sequence[SourceEdit]) -> None:
    """Make `to` the edited source. Files that are the same already keep their time.

    Raises:
        SourceError: there is no such folder, or it cannot be copied there.
        OSError: something cannot be read or written.
    """
    if not is_folder(source):
        raise SourceError(
            f"there is no folder {source}", "Name the folder with the source: --source DIR"
        )
    if to.absolute().is_relative_to(source.absolute()):
        raise SourceError(
            f"the build would be copied into its own source, {source}",
            "Name a folder elsewhere: --root DIR",
        )
    source = source.absolute()
    edited = {change.file for change in edits}
    for path in _files(source, skip):
        name = path.relative_to(source).as_posix()
        place = to / name
        # what an earlier run put where something of another kind is now
        for folder in [to / parent for parent in PurePosixPath(name).parents if parent.name]:
            if is_link(folder) or is_file(folder):
                discard(folder)
        if is_link(place) or is_folder(place):
            discard(place)
        executable = os.access(path, os.X_OK)
        if name in edited:
            wanted = edited_content(path, name, edits)
            if not is_file(place) or place.read_bytes() != wanted:
                write(io.BytesIO(wanted), place, executable=executable)
        elif not is_file(place) or not filecmp.cmp(path, place, shallow=False):
            with path.open("rb") as content:
                write(content, place, executable=executable)


def is_project(folder: Path) -> bool:
    """True if pip could build the folder."""
    return is_file(folder / "setup.py") or is_file(folder / "pyproject.toml")


def is_link(path: Path) -> bool:
    """A symbolic link or a junction."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def _files(root: Path, skip: Sequence[str]) -> Iterator[Path]:
    """Files below the root, those behind links included.

    Raises:
        SourceError: a link to a folder leads out of it, to whatever may be there.
        OSError: something cannot be read.
    """
    top = Path(os.path.realpath(root))
    folders: list[tuple[Path, tuple[str, ...]]] = [(root, ())]
    while folders:
        folder, above = folders.pop()
        real = os.path.realpath(folder)
        if real in above:  # a link that leads back
            continue
        if not Path(real).is_relative_to(top):
            raise SourceError(
                f"{folder} leads out of the source, to {real}",
                "Put the folder itself there, or take the link away.",
            )
        for path in sorted(folder.iterdir()):
            if skipped(PurePosixPath(path.relative_to(root).as_posix()), skip):
                continue
            if path.is_file():
                yield path
            elif path.is_dir() and not is_file(path / _ENVIRONMENT):
                folders.append((path, (*above, real)))


def edit(folder: Path, edits: Sequence[SourceEdit]) -> None:
    """Make the changes in an unpacked source.

    Raises:
        SourceError: a file or text that has to be changed is not there, or is a link to elsewhere.
    """
    for file in dict.fromkeys(change.file for change in edits):
        refuse_link(folder, file)
        if is_file(folder / file) or any(c.required for c in edits if c.file == file):
            (folder / file).write_bytes(edited_content(folder / file, file, edits))


def edited_content(path: Path, name: str, edits: Sequence[SourceEdit]) -> bytes:
    """The content of a file of the source, with the edits for `name`, line ends as they are."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise SourceError(
            f"the source has no {name}, which the recipe has to change",
            "It may be of another version: name it with --version",
        ) from None
    for change in edits:
        if change.file != name:
            continue
        find, put = change.find.encode(), change.replace.encode()
        if b"\r\n" in content:
            find, put = find.replace(b"\n", b"\r\n"), put.replace(b"\n", b"\r\n")
        if find not in content and change.required:
            raise SourceError(
                f"{name} does not hold {change.find!r}, which the recipe has to change",
                "It may be of another version: name it with --version",
            )
        content = content.replace(find, put)
    return content


def refuse_link(folder: Path, name: str) -> None:
    """Refuse to change what lies elsewhere: a commit may hold links to anywhere."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise SourceError(
            f"the source has a link to elsewhere at {name}, which the recipe has to change",
            "Give a source that has a file or folder there: --source DIR",
        )


# --- archives: nothing lands outside of the folder, and what comes out is bounded


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
            allowance = Allowance(os.fstat(stream.fileno()).st_size)
            bounded = _Bounded(cast("IO[bytes]", gzip.GzipFile(fileobj=stream)), allowance)
            with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r:") as tar:
                for member in tar:
                    allowance.take(member.name, member.size)
                    _unpack(archive, tar, member, _place(member.name, to, skip))
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


def _unpack(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, to: Path | None) -> None:
    if to is None:
        return
    content = tar.extractfile(member) if member.isfile() else None
    if content is not None:
        write(content, to, executable=bool(member.mode & stat.S_IXUSR))
    elif member.issym() or member.islnk():
        raise SourceError(
            f"{archive} holds the link {member.name}, and no link is unpacked",
            "Unpack it by hand, and name the folder: --source DIR",
        )


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

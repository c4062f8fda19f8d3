"""Archives that strangers made: bounds on what may come out, and errors of damaged ones.

A megabyte of a zip or tar.gz can hold a gigabyte of zeros, or hundreds of thousands of files.
"""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias, cast

from tritonwin.errors import UserError
from tritonwin.system.files import long_path

LARGEST = 2**30  # bytes of one file
MOST_BYTES = 8 * 2**30
MOST_MEMBERS = 200_000  # PyTorch's sources are 50,000 files
RATIO = 200  # bytes for each of the archive: sources come to 20, zeros to 1,000
SMALL = 64 * 2**20  # bytes that may come out of an archive of any size
_MIB = 2**20
_LONGEST_NAME = 2**20  # bytes of a name and what else stands before a member
_BY_HAND = "Unpack it by hand, if you trust it, and name the folder."
_EXECUTABLE = 0o111 << 16  # where a zip keeps the mode of a file


class TooMuchError(Exception):
    """An archive holds more than it may, or what it must not; a sentence about the archive."""


class Allowance:
    """Bounds on the content of one archive.

    Attributes:
        bytes: upper bound of all content together.
    """

    def __init__(self, packed: int, *, largest: int | None = None, most: int | None = None) -> None:
        """Bounds for an archive of `packed` bytes, its largest file, and all of its content."""
        self.bytes = min(most or MOST_BYTES, max(SMALL, RATIO * packed))
        self._largest = largest or LARGEST
        self._taken = self._members = 0

    def take(self, name: str, size: int) -> None:
        """Count a member of `size` bytes before it is unpacked.

        Raises:
            TooMuchError: it, or all members together, exceed a bound.
        """
        self._members += 1
        self._taken += size
        if size > self._largest:
            limit = self._largest // _MIB
            raise TooMuchError(
                f"{name} is too large: {size // _MIB} MiB, and a file may have {limit}"
            )
        if self._members > MOST_MEMBERS:
            raise TooMuchError(f"it holds more than {MOST_MEMBERS} files")
        if self._taken > self.bytes:
            raise TooMuchError(self.too_much)

    @property
    def too_much(self) -> str:
        return f"it would unpack to more than {self.bytes // _MIB} MiB"


# What Python's readers raise on damaged files, besides OSError; found by fuzzing. RuntimeError: a
# member with a password, or with an unknown compression.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
    ArithmeticError,
    struct.error,
)


def opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member of a zip, so that reading takes no more memory than asked for.

    Raises:
        NotImplementedError (of DAMAGE): compressed by bzip2 or LZMA, which Python unpacks in whole
            blocks: a megabyte may become 20 GB, whatever size the archive states.
    """
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise NotImplementedError(
            f"{member.filename} has a compression that no wheel and no package uses"
        )
    return archive.open(member)


class ArchiveError(UserError):
    """An archive that is damaged, or that holds what it must not."""


# (name, size, executable, opener); the opener of a link gives None
_Member: TypeAlias = tuple[str, int, bool, "Callable[[], IO[bytes] | None] | None"]


def unpack(archive: Path, place: Callable[[tuple[str, ...]], Path | None]) -> None:
    """Unpack a zip or a .tar.gz.

    Args:
        place: the place of a member, by the parts of its name; None: it is left out.

    Raises:
        ArchiveError: it cannot be read, more is in it than may come out of an archive of its size,
            or a member is a link or would leave its folder. What was unpacked until then stays.
    """
    help_text = f"Do not use it. {_BY_HAND}"
    try:
        with archive.open("rb") as stream:
            allowance = Allowance(os.fstat(stream.fileno()).st_size)
            packed = archive.name.endswith(".tar.gz")
            for name, size, executable, opener in (
                _tarred(stream, allowance) if packed else _zipped(stream)
            ):
                allowance.take(name, size)
                parts = PurePosixPath(name.replace("\\", "/")).parts
                to = place(parts) if opener else None
                if to is None or opener is None:
                    continue
                if any(part in {"..", "/", "//"} or ":" in part for part in parts):
                    raise TooMuchError(f"{name!r} would land outside its folder")
                content = opener()
                if content is None:
                    raise TooMuchError(f"{name} is a link, and no link is unpacked")
                with content:
                    write(content, to, executable=executable)
    except TooMuchError as error:
        raise ArchiveError(f"{archive}: {error}", help_text) from None
    except FileNotFoundError:
        raise ArchiveError(f"there is no file {archive}", "Name another one.") from None
    except (OSError, *DAMAGE) as error:
        raise ArchiveError(
            f"{archive} cannot be unpacked: {error}",
            "Fetch it again, and see that the disk has room.",
        ) from None


def unpack_folder(archive: Path, folder: str, to: Path) -> None:
    """Unpack one folder of a zip, "" for all of it, ignoring all else in it.

    Names are compared as Windows does, without regard to case.

    Raises:
        ArchiveError: as for `unpack`.
    """
    wanted = PurePosixPath(folder.lower()).parts

    def place(parts: tuple[str, ...]) -> Path | None:
        inside = tuple(part.lower() for part in parts[: len(wanted)]) == wanted
        return to.joinpath(*parts[len(wanted) :]) if inside else None

    unpack(archive, place)


def _zipped(stream: IO[bytes]) -> Iterator[_Member]:
    with zipfile.ZipFile(stream) as files:
        for member in files.infolist():
            executable = bool(member.external_attr & _EXECUTABLE)
            opener = None if member.is_dir() else partial(opened, files, member)
            yield member.filename, member.file_size, executable, opener


def _tarred(stream: IO[bytes], allowance: Allowance) -> Iterator[_Member]:
    bounded = _Bounded(cast("IO[bytes]", gzip.GzipFile(fileobj=stream)), allowance)
    with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r:") as tar:
        for member in tar:
            opener: Callable[[], IO[bytes] | None] | None = None
            if member.issym() or member.islnk():
                opener = lambda: None  # noqa: E731
            elif member.isfile():
                opener = partial(tar.extractfile, member)
            yield member.name, member.size, bool(member.mode & stat.S_IXUSR), opener


class _Bounded:
    """The content of a packed file for tarfile: read forwards, and not beyond the bound."""

    def __init__(self, stream: IO[bytes], allowance: Allowance) -> None:
        self.tell, self._read, self._seek = stream.tell, stream.read, stream.seek
        self._allowance = allowance

    def read(self, size: int) -> bytes:
        if size > _LONGEST_NAME:
            raise TooMuchError("a name in it is too long")
        self._check(self.tell() + size)
        return self._read(size)

    def seek(self, position: int) -> int:
        self._check(position)
        return self._seek(position)

    def _check(self, position: int) -> None:
        # each member takes a header, and its end is filled up: as much again at the worst
        if position > 2 * self._allowance.bytes:
            raise TooMuchError(self._allowance.too_much)


def write(content: IO[bytes], place: Path, *, executable: bool) -> None:
    """Write a file with the current time: one from the future would be compiled in every run."""
    target = long_path(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # a link is not written through
    with target.open("wb") as stream:
        shutil.copyfileobj(content, stream)
    if executable and os.name != "nt":
        target.chmod(0o755)

"""Archives that strangers made: bounds on what may come out, and errors of damaged ones.

A megabyte of a zip or tar.gz can hold a gigabyte of zeros, or hundreds of thousands of files.
"""

from __future__ import annotations

import os
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from tritonwin.errors import UserError

LARGEST = 2**30  # bytes of one file
MOST_BYTES = 8 * 2**30
MOST_MEMBERS = 200_000  # PyTorch's sources are 50,000 files
RATIO = 200  # bytes for each of the archive: sources come to 20, zeros to 1,000
SMALL = 64 * 2**20  # bytes that may come out of an archive of any size
_MIB = 2**20
_EXECUTABLE = 0o111 << 16  # where a zip keeps the mode of a file


def leads_out(name: str) -> bool:
    """True for a name that would be unpacked outside of the target folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return any(part in {"..", "/", "//"} or ":" in part for part in parts)


class TooMuchError(Exception):
    """An archive exceeds a bound; the text continues a sentence about the archive."""


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


try:
    from lzma import LZMAError
except ImportError:  # a Python built without lzma refuses such members with RuntimeError
    LZMAError = RuntimeError  # type: ignore[assignment,misc]

# What Python's readers raise on damaged files, besides OSError; found by fuzzing. RuntimeError: a
# member with a password, or with an unknown compression.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    LZMAError,
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
    """A zip that is damaged, or that holds what it must not."""


def unpack_folders(archive: Path, folders: Mapping[str, Path]) -> None:
    """Unpack the folders of a zip, each into a folder of its own, ignoring all else in it.

    Names are compared as Windows does, without regard to case.

    Raises:
        ArchiveError: no zip, a member that would leave its folder, or more than may come out of it.
    """
    try:
        allowance = Allowance(archive.stat().st_size)
        with zipfile.ZipFile(archive) as files:
            for member in files.infolist():
                place = _place(member.filename, folders)
                if place is not None and not member.is_dir():
                    allowance.take(member.filename, member.file_size)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    with opened(files, member) as source, place.open("wb") as target:
                        shutil.copyfileobj(source, target)
                    if member.external_attr & _EXECUTABLE and os.name != "nt":
                        place.chmod(0o755)
    except TooMuchError as error:
        raise ArchiveError(f"{archive}: {error}", "Do not use this file.") from None
    except (OSError, *DAMAGE) as error:
        raise ArchiveError(
            f"{archive} cannot be unpacked: {error}",
            "Fetch it again, and see that the disk has room.",
        ) from None


def names_in_zip(archive: Path) -> tuple[str, ...]:
    """The names of a zip's members. Raises ArchiveError."""
    try:
        with zipfile.ZipFile(archive) as files:
            return tuple(files.namelist())
    except (OSError, *DAMAGE) as error:
        raise ArchiveError(
            f"{archive} cannot be read: {error}", "Fetch it again, or name another file."
        ) from None


def _place(name: str, folders: Mapping[str, Path]) -> Path | None:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    for folder, target in folders.items():
        wanted = PurePosixPath(folder).parts
        if tuple(p.lower() for p in parts[: len(wanted)]) != tuple(w.lower() for w in wanted):
            continue
        inner = parts[len(wanted) :]
        if not inner or leads_out(name):
            raise ArchiveError(
                f"the zip holds {name!r}, which would land outside its folder",
                "Do not use this file.",
            )
        return target.joinpath(*inner)
    return None

"""How much may come out of an archive, and where to: one bound for every reader.

A megabyte of a zip or tar.gz can hold a gigabyte of zeros, or hundreds of thousands of files.
"""

from __future__ import annotations

from pathlib import PurePosixPath

LARGEST = 2**30  # bytes of one file
MOST_BYTES = 8 * 2**30
MOST_MEMBERS = 200_000  # PyTorch's sources are 50,000 files
RATIO = 200  # bytes for each of the archive: sources come to 20, zeros to 1,000
SMALL = 64 * 2**20  # bytes that may come out of an archive of any size
_MIB = 2**20


def leads_out(name: str) -> bool:
    """Whether a member of this name would land outside of the folder that is unpacked to."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return any(part in {"..", "/", "//"} or ":" in part for part in parts)


class TooMuchError(Exception):
    """More than an archive may hold; the text is the end of a sentence about it."""


class Allowance:
    """What may still come out of an archive.

    Attributes:
        bytes: that may come out of it in all.
    """

    def __init__(self, packed: int) -> None:
        """`packed` is the size of the archive in bytes."""
        self.bytes = min(MOST_BYTES, max(SMALL, RATIO * packed))
        self._taken = self._members = 0

    def take(self, name: str, size: int) -> None:
        """Count a member of `size` bytes in, before it is unpacked.

        Raises:
            TooMuchError: it, or all members together, are more than may be.
        """
        self._members += 1
        self._taken += size
        if size > LARGEST:
            raise TooMuchError(
                f"{name} is too large: {size // _MIB} MiB, and a file may have {LARGEST // _MIB}"
            )
        if self._members > MOST_MEMBERS:
            raise TooMuchError(f"it holds more than {MOST_MEMBERS} files")
        if self._taken > self.bytes:
            raise TooMuchError(self.too_much)

    @property
    def too_much(self) -> str:
        return f"it would unpack to more than {self.bytes // _MIB} MiB"

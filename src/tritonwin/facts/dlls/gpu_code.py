"""The GPU code in compiled modules: for which architectures, and which GPUs it serves.

nvcc puts one fat binary for each source into a section (`.nv_fatbin` of ELF, `.nv_fatb` of PE): a
head, then an entry for each architecture, itself a head and a cubin or PTX. The heads are read
wherever they are, so that the section need not be found. Their layout is not documented; it was
read in the output of nvcc 13.0 for sm_90, sm_90a, sm_100a, sm_120f and PTX.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tritonwin.system.files import is_file

_MAGIC = struct.pack("<I", 0xBA55ED50)
_CONTAINER = struct.Struct("<IHHQ")  # magic, version, size of this head, size of the entries
_ENTRY = struct.Struct("<HHIQIIHHI")  # kind, version, head, size, ..., minor, major, architecture
_FLAGS = 40  # offset of the flags in an entry's head
_KINDS = {1: "ptx", 2: "sass"}
_ACCELERATED = 0x100000  # sm_90a: for this very architecture
_FAMILY = 0x200000  # sm_120f
_NEWEST = 500  # more than any architecture; a number above it is no architecture


@dataclass(frozen=True, order=True)
class Code:
    """Machine code or PTX for an architecture.

    Attributes:
        arch: compute capability without its dot: 90.
        suffix: "a" for this very architecture, "f" for its family, else empty.
        ptx: to be compiled by the driver, for this architecture and later ones.
    """

    arch: int
    suffix: str = ""
    ptx: bool = False

    def __str__(self) -> str:
        return f"{self.arch // 10}.{self.arch % 10}{self.suffix}{'+PTX' if self.ptx else ''}"

    def serves(self, capability: int) -> bool:
        """True if a GPU of this compute capability can run it."""
        if self.suffix == "a":
            return self.arch == capability
        same_generation = self.arch // 10 == capability // 10
        if self.suffix == "f" or not self.ptx:
            return same_generation and self.arch <= capability
        return self.arch <= capability


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[bytes | mmap.mmap]:
    """The content of a file.

    Raises:
        OSError: no regular file (a pipe or device would block), or one that cannot be read.
    """
    if not is_file(path):
        raise FileNotFoundError(path)
    with path.open("rb") as stream:
        if not path.stat().st_size:
            yield b""
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def gpu_code(path: Path) -> tuple[Code, ...]:
    """The code in a compiled module, each kind once, sorted.

    Raises:
        OSError: it cannot be read.
    """
    with mapped(path) as data:
        return codes_in(data)


def codes_in(data: bytes | mmap.mmap) -> tuple[Code, ...]:
    """The code in the content of a module, or in its beginning: an entry cut short is left out."""
    return tuple(sorted(set(_codes(data))))


def _codes(data: bytes | mmap.mmap) -> Iterator[Code]:
    at = 0
    while (at := data.find(_MAGIC, at)) >= 0:
        if at + _CONTAINER.size > len(data):
            return
        _, _, head, size = _CONTAINER.unpack_from(data, at)
        end = at + head + size
        if head == _CONTAINER.size and end <= len(data):
            yield from _entries(data, at + head, end)
            at = end
        else:  # the number that fat binaries begin with, among other data
            at += len(_MAGIC)


def _entries(data: bytes | mmap.mmap, at: int, end: int) -> Iterator[Code]:
    while at + _FLAGS + 8 <= end:
        kind, _, head, size, _, _, _, _, arch = _ENTRY.unpack_from(data, at)
        (flags,) = struct.unpack_from("<Q", data, at + _FLAGS)
        if kind in _KINDS and 0 < arch < _NEWEST:
            suffix = "a" if flags & _ACCELERATED else "f" if flags & _FAMILY else ""
            yield Code(arch, suffix, ptx=_KINDS[kind] == "ptx")
        if head < _FLAGS:
            return
        at += head + size

"""Windows programs and DLLs (PE files) as data: machine, version, imports, exports.

Nothing is loaded. `pefile` reads the headers, and every way in which a file can be broken becomes
None. Functions are read here, with bounds on damaged files: `pefile` stops at 8,192 entries, and
`torch_cpu.dll` exports more than that. Layout: Microsoft's "PE Format" reference, sections
".edata", ".idata" and "Delay-Load Import Tables".
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tritonwin.system.files import is_file

if TYPE_CHECKING:
    import pefile

# IMAGE_FILE_MACHINE_* of Microsoft's "PE Format" reference.
MACHINES = {0x014C: "x86", 0x8664: "AMD64", 0xAA64: "ARM64", 0x01C4: "ARM"}

# Errors of pefile on damaged files, found by fuzzing; its own error becomes a ValueError.
DAMAGE = (
    OSError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    MemoryError,
    struct.error,
)

_PE32_PLUS = 0x20B  # magic number of the optional header of 64-bit files
# Directories of the optional header, by their fixed index.
_IMPORT, _RESOURCE = 1, 2


@dataclass(frozen=True, kw_only=True)
class PeImage:
    """The headers of a PE file. Names keep the spelling of the file."""

    machine: str  # "AMD64", "x86", "ARM64", else the number: "0x1234"
    bits: int
    imports: tuple[str, ...]  # DLLs needed to load it; those of the first call are left out
    file_version: str | None = None  # "14.44.35211.0", on request
    linker: str = ""  # "14.44": version of the linker that made it


def read_pe(path: str | Path, *, version: bool = False) -> PeImage | None:
    """Read the headers of a file; None where it is absent, unreadable or no PE file.

    `version` adds the version of the resources, which costs time in large files. Functions, and the
    DLLs of the first call, are read by `pe_tables`.
    """
    wanted = [_IMPORT, _RESOURCE] if version else [_IMPORT]
    try:
        with opened(Path(path)) as pe:
            pe.parse_data_directories(wanted, import_dllnames_only=True)
            return _image(pe)
    except DAMAGE:
        return None


def read_beginning(data: bytes) -> PeImage | None:
    """Read the headers in the first bytes of a file; None where they are damaged or not whole.

    `imports` is empty where their table lies behind these bytes.
    """
    import pefile  # late: see `opened`

    try:
        pe = pefile.PE(data=data, fast_load=True)
        pe.parse_data_directories([_IMPORT], import_dllnames_only=True)
        return _image(pe)
    except (pefile.PEFormatError, *DAMAGE):
        return None


@contextlib.contextmanager
def opened(path: Path) -> Iterator[pefile.PE]:
    """The headers of a file; its content is `__data__` of what is given.

    Opened by name, `pefile` would have Python collect its garbage whenever a file is closed, which
    takes longer than reading one.

    Raises:
        FileNotFoundError: no regular file (a pipe or device would block).
        OSError, ValueError and others of DAMAGE: unreadable or damaged.
    """
    import pefile  # late: its import takes longer than most commands need

    if not is_file(path):
        raise FileNotFoundError(path)
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        try:
            yield pefile.PE(data=data, fast_load=True)
        except pefile.PEFormatError as error:
            raise ValueError(str(error)) from None


def _image(pe: pefile.PE) -> PeImage:
    imported = getattr(pe, "DIRECTORY_ENTRY_IMPORT", [])
    machine, optional = pe.FILE_HEADER.Machine, pe.OPTIONAL_HEADER
    fixed = getattr(pe, "VS_FIXEDFILEINFO", None)
    halves = (fixed[0].FileVersionMS, fixed[0].FileVersionLS) if fixed else ()
    numbers = ".".join(f"{half >> 16}.{half & 0xFFFF}" for half in halves)
    names = ((entry.dll or b"").decode("ascii", "replace") for entry in imported)
    return PeImage(
        machine=MACHINES.get(machine, f"0x{machine:04X}"),
        bits=64 if pe.PE_TYPE == _PE32_PLUS else 32,
        imports=tuple(dict.fromkeys(name for name in names if name)),
        file_version=_version_text(pe) or numbers or None,
        linker=f"{optional.MajorLinkerVersion}.{optional.MinorLinkerVersion}",
    )


def _version_text(pe: pefile.PE) -> str | None:
    """The number in "14.0.24215.1 built by: VCTOOLSREL", the first word."""
    tables = (
        t for b in getattr(pe, "FileInfo", []) for i in b for t in getattr(i, "StringTable", [])
    )
    for table in tables:
        words = (
            table.entries.get(b"FileVersion", b"").decode("utf-8", "replace").strip("\0 ").split()
        )
        if words:
            return str(words[0])
    return None


def is_api_set(name: str) -> bool:
    """True for a name that Windows itself maps to a system DLL; no file has it."""
    return name.lower().startswith(("api-ms-win-", "ext-ms-"))


_EXPORT, _IMPORTS, _DELAY_IMPORT = 0, 1, 13  # directories of the optional header
_DESCRIPTOR, _DELAY_DESCRIPTOR = struct.Struct("<IIIII"), struct.Struct("<IIIIIIII")
_MAX_DLLS = 4096
_MAX_FUNCTIONS = 1 << 20  # of a file: many DLLs may share one long list
_MAX_NAME = 4096  # mangled names of templates are long
_MAX_NAMES_SIZE = 128 * 2**20

Function = str | int  # a name, or the number of one that is imported or exported without


@dataclass(frozen=True, kw_only=True)
class Import:
    """The imports from one DLL; `delayed`: at the first call, not when the file is loaded."""

    dll: str
    functions: tuple[Function, ...]
    delayed: bool = False


@dataclass(frozen=True, kw_only=True)
class Tables:
    """`exports` holds names, and the numbers (ordinals) of all exports."""

    imports: tuple[Import, ...]
    exports: frozenset[Function]


class _DamagedError(ValueError):
    pass


def read_tables(path: Path) -> Tables | None:
    """Both tables of a file; None where it is absent, unreadable, damaged or no PE file."""
    try:
        with opened(path) as pe:
            file = _File(pe)
            return Tables(imports=tuple(file.imports()), exports=frozenset(file.exports()))
    except DAMAGE:
        return None


class _File:
    def __init__(self, pe: pefile.PE) -> None:
        self._data = pe.__data__
        self._wide = pe.PE_TYPE == _PE32_PLUS
        self._base = pe.OPTIONAL_HEADER.ImageBase
        self._directories = pe.OPTIONAL_HEADER.DATA_DIRECTORY
        sections = sorted(
            (s.VirtualAddress, s.SizeOfRawData, s.PointerToRawData) for s in pe.sections
        )
        self._sections = sections
        self._starts = [start for start, _, _ in sections]
        self._names_size = 0
        self._imported = 0

    def imports(self) -> Iterator[Import]:
        for row in self._rows(_IMPORTS, _DESCRIPTOR):
            names, _, _, dll, addresses = row
            # an old linker left the table of names out; the one of addresses is the same on disk
            yield Import(dll=self._name(dll), functions=tuple(self._thunks(names or addresses)))
        for row in self._rows(_DELAY_IMPORT, _DELAY_DESCRIPTOR):
            attributes, dll, _, _, names = row[:5]
            if not attributes & 1:  # before 2002: addresses, not relative ones
                dll, names = dll - self._base, names - self._base
            functions = tuple(self._thunks(names))
            yield Import(dll=self._name(dll), functions=functions, delayed=True)

    def _rows(self, directory: int, layout: struct.Struct) -> Iterator[tuple[int, ...]]:
        """The descriptors of a directory, which end with one that names no DLL."""
        place = self._directory(directory)
        if place == 0:
            return
        name = 3 if layout is _DESCRIPTOR else 1
        for index in range(_MAX_DLLS):
            row = layout.unpack_from(self._data, self._offset(place) + index * layout.size)
            if row[name] == 0:
                return
            yield row
        raise _DamagedError("no end of the list of DLLs")

    def _thunks(self, place: int) -> Iterator[Function]:
        size, layout = (8, "<Q") if self._wide else (4, "<I")
        by_number = 1 << (8 * size - 1)
        offset = self._offset(place)
        for index in range(_MAX_FUNCTIONS - self._imported):
            (thunk,) = struct.unpack_from(layout, self._data, offset + index * size)
            if thunk == 0:
                self._imported += index
                return
            # two bytes of hint stand before the name
            yield thunk & 0xFFFF if thunk & by_number else self._name((thunk & 0x7FFFFFFF) + 2)
        raise _DamagedError("no end of the list of functions")

    def exports(self) -> Iterator[Function]:
        place = self._directory(_EXPORT)
        if place == 0:
            return
        row = struct.unpack_from("<IIHHIIIIIII", self._data, self._offset(place))
        first, functions, names, addresses_at, names_at = row[5:10]
        for count in (functions, names):
            if count > _MAX_FUNCTIONS:
                raise _DamagedError(f"{count} exports")
        if functions:
            offset = self._offset(addresses_at)
            addresses = struct.unpack_from(f"<{functions}I", self._data, offset)
            yield from (first + index for index, address in enumerate(addresses) if address)
        if names:
            places = struct.unpack_from(f"<{names}I", self._data, self._offset(names_at))
            yield from map(self._name, places)

    def _directory(self, index: int) -> int:
        if index >= len(self._directories):
            return 0
        address: int = self._directories[index].VirtualAddress
        return address

    def _offset(self, address: int) -> int:
        """The offset in the file of an address relative to the image."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            if 0 <= address < len(self._data):
                return address  # in the headers
            raise _DamagedError(f"address {address:#x} is in no section")
        start, size, raw = self._sections[index]
        if address - start >= size:
            raise _DamagedError(f"address {address:#x} is not in the file")
        place: int = raw + address - start
        return place

    def _name(self, address: int) -> str:
        start = self._offset(address)
        end = self._data.find(b"\0", start, start + _MAX_NAME)
        self._names_size += end - start
        if end < 0 or self._names_size > _MAX_NAMES_SIZE:
            raise _DamagedError("a name without an end")
        return bytes(self._data[start:end]).decode("latin-1")

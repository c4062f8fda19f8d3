"""The functions that a PE file imports and exports, all of them, with bounds on damaged files.

`pefile` finds the tables but stops reading them at 8,192 entries; `torch_cpu.dll` exports more than
that, and what it left out would look missing. Layout: Microsoft's "PE Format" reference, sections
".edata", ".idata" and "Delay-Load Import Tables".
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pefile

from tritonwin.facts.dlls.pe import DAMAGE, opened

_EXPORT, _IMPORT, _DELAY_IMPORT = 0, 1, 13  # directories of the optional header
_DESCRIPTOR, _DELAY_DESCRIPTOR = struct.Struct("<IIIII"), struct.Struct("<IIIIIIII")
_MAX_DLLS = 4096
_MAX_FUNCTIONS = 1 << 20  # of a file: many DLLs may share one long list
_MAX_NAME = 4096  # mangled names of templates are long
_MAX_NAMES_SIZE = 128 * 2**20

Function = str | int  # a name, or the number of one that is imported or exported without


@dataclass(frozen=True, kw_only=True)
class Import:
    """What a file takes from one DLL; `delayed`: at the first call, not when it is loaded."""

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
        self._wide = pe.PE_TYPE == pefile.OPTIONAL_HEADER_MAGIC_PE_PLUS
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
        yield from self._ordinary()
        yield from self._delayed()

    def _ordinary(self) -> Iterator[Import]:
        for row in self._rows(_IMPORT, _DESCRIPTOR):
            names, _, _, dll, addresses = row
            # an old linker left the table of names out; the one of addresses is the same on disk
            yield Import(dll=self._name(dll), functions=tuple(self._thunks(names or addresses)))

    def _delayed(self) -> Iterator[Import]:
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
        """Where an address relative to the image lies in the file."""
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

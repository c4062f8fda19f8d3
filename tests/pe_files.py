"""Small PE files with chosen imports and exports, for tests of what reads DLLs and modules."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_SECTION_RVA = 0x1000
_SECTION_OFFSET = 0x200
_BY_NUMBER = 1 << 63


def pe_file(
    *imports: str,
    machine: int = 0x8664,
    functions: Mapping[str, Sequence[str | int]] | None = None,
    delayed: Mapping[str, Sequence[str | int]] | None = None,
    exports: Sequence[str] = (),
    first: int = 1,
) -> bytes:
    """A 64-bit DLL that imports one function by number from each DLL named.

    `functions` and `delayed` give the imports of DLLs by name or number, `exports` the names that
    the DLL offers, numbered from `first` on.
    """
    section = _Section()
    wanted: dict[str, Sequence[str | int]] = dict.fromkeys(imports, (1,))
    directories = {
        0: section.exports(exports, first),
        1: section.imports({**wanted, **(functions or {})}),
        13: section.delayed(delayed or {}),
    }
    return _file(bytes(section.data), directories, machine)


class _Section:
    """The one section, which grows; addresses are relative to the image."""

    def __init__(self) -> None:
        self.data = bytearray()

    def put(self, data: bytes) -> int:
        self.data += bytes(-len(self.data) % 8)
        place = _SECTION_RVA + len(self.data)
        self.data += data
        return place

    def text(self, name: str) -> int:
        return self.put(name.encode("ascii") + b"\0")

    def imports(self, wanted: Mapping[str, Sequence[str | int]]) -> tuple[int, int]:
        rows = b""
        for dll, functions in wanted.items():
            thunks = self.thunks(functions)
            rows += struct.pack("<IIIII", thunks, 0, 0, self.text(dll), thunks)
        return (self.put(rows + bytes(20)), len(rows) + 20) if rows else (0, 0)

    def delayed(self, wanted: Mapping[str, Sequence[str | int]]) -> tuple[int, int]:
        rows = b""
        for dll, functions in wanted.items():
            thunks = self.thunks(functions)
            rows += struct.pack("<IIIIIIII", 1, self.text(dll), 0, thunks, thunks, 0, 0, 0)
        return (self.put(rows + bytes(32)), len(rows) + 32) if rows else (0, 0)

    def thunks(self, functions: Sequence[str | int]) -> int:
        places = [
            _BY_NUMBER | each
            if isinstance(each, int)
            else self.put(b"\0\0" + each.encode() + b"\0")
            for each in functions
        ]
        return self.put(struct.pack(f"<{len(places) + 1}Q", *places, 0))

    def exports(self, names: Sequence[str], first: int) -> tuple[int, int]:
        if not names:
            return 0, 0
        count = len(names)
        code = self.put(b"\xc3")
        addresses = self.put(struct.pack(f"<{count}I", *[code] * count))
        texts = self.put(struct.pack(f"<{count}I", *[self.text(name) for name in names]))
        numbers = self.put(struct.pack(f"<{count}H", *range(count)))
        row = (0, 0, 0, 0, code, first, count, count, addresses, texts, numbers)
        return self.put(struct.pack("<IIHHIIIIIII", *row)), 40


def _file(section: bytes, directories: Mapping[int, tuple[int, int]], machine: int) -> bytes:
    padded = section.ljust(-(-max(len(section), 1) // 0x200) * 0x200, b"\0")
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", machine, 1, 0, 0, 0, 240, 0x2022)
    optional = struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        *(0x20B, 14, 0, 0, len(padded), 0, 0, 0, 0x180000000, 0x1000, 0x200),
        *(6, 0, 0, 0, 6, 0, 0, _SECTION_RVA + len(padded), _SECTION_OFFSET, 0, 2, 0x160),
        *(0x100000, 0x1000, 0x100000, 0x1000, 0, 16),
    )
    table = b"".join(struct.pack("<II", *directories.get(n, (0, 0))) for n in range(16))
    header = struct.pack(
        "<8sIIIIIIHHI",
        *(b".rdata", len(padded), _SECTION_RVA, len(padded), _SECTION_OFFSET),
        *(0, 0, 0, 0, 0x40000040),
    )
    headers = dos + coff + optional + table + header
    return headers.ljust(_SECTION_OFFSET, b"\0") + padded


def import_library(*members: bytes) -> bytes:
    """The archive of a DLL's import library: python312.dll's, or of these objects."""
    symbols = _member(b"/", b"\0\0\0\1\0\0\0\0python\0")
    objects = members or (short_import("python312.dll"),)
    return b"!<arch>\n" + symbols + b"".join(_member(b"python312.dll/", m) for m in objects)


def short_import(dll: str, machine: int = 0x8664) -> bytes:
    names = b"PyList_New\0" + dll.encode() + b"\0"
    return struct.pack("<HHHHIIHH", 0, 0xFFFF, 0, machine, 0, len(names), 0, 4) + names


def _member(name: bytes, data: bytes) -> bytes:
    header = name.ljust(16) + b"0".ljust(32) + str(len(data)).encode().ljust(10) + b"`\n"
    return header + data + b"\n" * (len(data) % 2)

"""Small PE files with chosen imports, for tests of what reads DLLs and extension modules."""

from __future__ import annotations

import struct

_SECTION_RVA = 0x1000
_SECTION_OFFSET = 0x200


def pe_file(*imports: str, machine: int = 0x8664) -> bytes:
    """A 64-bit DLL that imports one function by number from each DLL named."""
    section, directory = _import_section(imports)
    padded = section.ljust(-(-max(len(section), 1) // 0x200) * 0x200, b"\0")
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", machine, 1, 0, 0, 0, 240, 0x2022)
    optional = struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        *(0x20B, 14, 0, 0, len(padded), 0, 0, 0, 0x180000000, 0x1000, 0x200),
        *(6, 0, 0, 0, 6, 0, 0, _SECTION_RVA + len(padded), _SECTION_OFFSET, 0, 2, 0x160),
        *(0x100000, 0x1000, 0x100000, 0x1000, 0, 16),
    )
    directories = bytes(8) + struct.pack("<II", *directory) + bytes(8 * 14)
    header = struct.pack(
        "<8sIIIIIIHHI",
        *(b".rdata", len(padded), _SECTION_RVA, len(padded), _SECTION_OFFSET),
        *(0, 0, 0, 0, 0x40000040),
    )
    headers = dos + coff + optional + directories + header
    return headers.ljust(_SECTION_OFFSET, b"\0") + padded


def _import_section(imports: tuple[str, ...]) -> tuple[bytes, tuple[int, int]]:
    if not imports:
        return b"", (0, 0)
    size = 20 * (len(imports) + 1)
    thunks = struct.pack("<QQ", 1 << 63 | 1, 0)
    names_at = size + len(thunks) * len(imports)
    names, descriptors = b"", b""
    for index, name in enumerate(imports):
        thunk = _SECTION_RVA + size + len(thunks) * index
        place = _SECTION_RVA + names_at + len(names)
        descriptors += struct.pack("<IIIII", thunk, 0, 0, place, thunk)
        names += name.encode("ascii") + b"\0"
    section = descriptors + bytes(20) + thunks * len(imports) + names
    return section, (_SECTION_RVA, size)

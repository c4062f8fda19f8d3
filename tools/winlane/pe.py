"""The names a DLL exports: what an import library for it must list."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path


def exports(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    header = struct.unpack_from("<I", data, 0x3C)[0]
    sections = list(_sections(data, header))

    def offset(address: int) -> int:
        for start, size, raw in sections:
            if start <= address < start + size:
                return address - start + raw
        raise ValueError(f"{path}: no section holds {address:#x}")

    # PE32+: the export table is the first data directory, 112 bytes into the optional header
    table = offset(struct.unpack_from("<I", data, header + 24 + 112)[0])
    count = struct.unpack_from("<I", data, table + 24)[0]
    names = offset(struct.unpack_from("<I", data, table + 32)[0])
    for index in range(count):
        start = offset(struct.unpack_from("<I", data, names + 4 * index)[0])
        yield data[start : data.index(b"\0", start)].decode("ascii")


def _sections(data: bytes, header: int) -> Iterator[tuple[int, int, int]]:
    count = struct.unpack_from("<H", data, header + 6)[0]
    optional = struct.unpack_from("<H", data, header + 20)[0]
    for index in range(count):
        at = header + 24 + optional + 40 * index
        size, address, raw_size, raw = struct.unpack_from("<IIII", data, at + 8)
        yield address, max(size, raw_size), raw

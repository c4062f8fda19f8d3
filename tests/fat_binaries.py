"""Fat binaries as nvcc writes them, for tests of what reads them."""

from __future__ import annotations

import struct

MAGIC = struct.pack("<I", 0xBA55ED50)


def entry(kind: int, arch: int, flags: int, head: int = 64, size: int = 8) -> bytes:
    fields = struct.pack(
        "<HHIQIIHHIIIQQQ", kind, 0x101, head, size, 0, 0, 8, 1, arch, 0, 0, flags, 0, 0
    )
    return fields.ljust(head, b"\0") + b"\x7fELF\x02\x01\x01A"[:size]


def container(*entries: bytes) -> bytes:
    content = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content

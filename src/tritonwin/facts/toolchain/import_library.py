"""Import libraries (`python312.lib`, `libpython312.dll.a`): which DLL do they link to?

Two kinds are read: short import objects (Microsoft's and LLVM's tools; "PE Format", section
"Import Library Format") and the long objects of GNU dlltool, which keep the DLL's name in a
section `.idata$7`, as Microsoft's import descriptor does in `.idata$6`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tritonwin.system.files import is_file

_MAGIC = b"!<arch>\n"
_MEMBER_HEADER = 60
_MEMBER_LIMIT = 64 * 1024
_MEMBERS_LIMIT = 50_000
_MACHINES = {0x8664: "x64", 0x014C: "x86", 0xAA64: "arm64"}
_DLL_NAME = re.compile(rb"([!-~]{1,200}\.(?:dll|exe|pyd|drv))\0", re.IGNORECASE)


@dataclass(frozen=True)
class ImportLibrary:
    """The DLL that a library stands for, and the machine it is for: "x64", "x86", "arm64"."""

    dll: str
    machine: str | None


def read_import_library(path: Path) -> ImportLibrary | None:
    """The first DLL that the library names; None for anything that is not an import library."""
    if not is_file(path):
        return None
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                return None
            parsed = (_short_import(m) or _descriptor(m) for m in _members(stream))
            return next((library for library in parsed if library), None)
    except (OSError, ValueError):
        return None


def _members(stream: BinaryIO) -> Iterator[bytes]:
    """The beginning of each object in the archive; symbol tables are left out."""
    position = len(_MAGIC)
    for _ in range(_MEMBERS_LIMIT):
        stream.seek(position)
        header = stream.read(_MEMBER_HEADER)
        if len(header) < _MEMBER_HEADER or header[58:60] != b"`\n":
            return
        size_text = header[48:58].strip()
        if not size_text.isdigit():
            return
        size = int(size_text)
        if header[:16].rstrip() not in {b"/", b"//", b"/<ECSYMBOLS>/", b"/SYM64/"}:
            yield stream.read(min(size, _MEMBER_LIMIT))
        position += _MEMBER_HEADER + size + size % 2


def _short_import(member: bytes) -> ImportLibrary | None:
    if len(member) < 20 or member[:4] != b"\0\0\xff\xff":
        return None
    machine = int.from_bytes(member[6:8], "little")
    names = member[20:].split(b"\0")  # symbol, DLL
    if len(names) < 3 or not names[1]:
        return None
    return ImportLibrary(names[1].decode("ascii", "replace"), _MACHINES.get(machine))


def _descriptor(member: bytes) -> ImportLibrary | None:
    if len(member) < 20:
        return None
    machine, sections = struct.unpack_from("<HH", member)
    if machine not in _MACHINES:
        return None
    table = 20 + int.from_bytes(member[16:18], "little")
    for start in range(table, min(table + 40 * sections, len(member) - 39), 40):
        name, size, offset = struct.unpack_from("<8s8x2I", member, start)
        if name in {b".idata$6", b".idata$7"}:
            found = _DLL_NAME.match(member[offset : offset + size] + b"\0")
            if found:
                return ImportLibrary(found[1].decode("ascii"), _MACHINES[machine])
    return None

"""Give a made-up PE file the version resource that Windows shows under "Details"."""

from __future__ import annotations

import struct

_PE_OFFSET = 64  # where tests.pe_files puts the "PE" signature
_OPTIONAL_HEADER = _PE_OFFSET + 24
_RESOURCE_DIRECTORY = _OPTIONAL_HEADER + 112 + 8 * 2
_SECTION_TABLE = _OPTIONAL_HEADER + 240
_RSRC_RVA = 0x100000


def versioned(pe: bytes, version: str, shown: str | None = None) -> bytes:
    """The PE file with `version` in numbers, and `shown` (or the same) as the text."""
    section = _resources(_version_info(version, shown or version))
    padded = section.ljust(-(-len(section) // 0x200) * 0x200, b"\0")
    data = bytearray(pe)
    header = struct.pack(
        "<8sIIIIIIHHI",
        *(b".rsrc", len(section), _RSRC_RVA, len(padded), len(pe), 0, 0, 0, 0, 0x40000040),
    )
    data[_SECTION_TABLE + 40 : _SECTION_TABLE + 80] = header
    struct.pack_into("<H", data, _PE_OFFSET + 6, 2)
    struct.pack_into("<I", data, _OPTIONAL_HEADER + 56, _RSRC_RVA + len(padded))
    struct.pack_into("<II", data, _RESOURCE_DIRECTORY, _RSRC_RVA, len(section))
    return bytes(data) + padded


def _resources(info: bytes) -> bytes:
    """RT_VERSION (16), name 1, language 0x409: three nested tables of one entry each."""

    def table(identifier: int, child: int) -> bytes:
        return struct.pack("<IIHHHHII", 0, 0, 0, 0, 0, 1, identifier, child)

    directory = 1 << 31
    tables = table(16, directory | 24) + table(1, directory | 48) + table(0x409, 72)
    leaf = struct.pack("<IIII", _RSRC_RVA + 88, len(info), 0, 0)
    return tables + leaf + info


def _version_info(version: str, shown: str) -> bytes:
    major, minor, build, revision = (int(part) for part in version.split("."))
    numbers = (major << 16 | minor, build << 16 | revision)
    fixed = struct.pack("<13I", 0xFEEF04BD, 0x10000, *numbers, *numbers, 0x3F, 0, 4, 2, 0, 0, 0)
    text = (shown + "\0").encode("utf-16-le")
    strings = [_block(key, text, len(shown) + 1, 1) for key in ("FileVersion", "ProductVersion")]
    table = _block("040904b0", b"", 0, 1, strings)
    return _block(
        "VS_VERSION_INFO", fixed, len(fixed), 0, [_block("StringFileInfo", b"", 0, 1, [table])]
    )


def _block(
    key: str, value: bytes, length: int, kind: int, children: list[bytes] | None = None
) -> bytes:
    head = _padded(bytes(6) + (key + "\0").encode("utf-16-le"))
    body = head + value
    for child in children or []:
        body = _padded(body) + child
    return struct.pack("<HHH", len(body), length, kind) + body[6:]


def _padded(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // 4) * 4, b"\0")

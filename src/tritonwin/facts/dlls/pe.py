"""Read Windows programs and DLLs (PE files): machine, imports, version. Nothing is loaded.

A thin layer over `pefile` that turns every way in which a file can be broken into None.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pefile

from tritonwin.system.files import is_file

# IMAGE_FILE_MACHINE_* of Microsoft's "PE Format" reference.
MACHINES = {0x014C: "x86", 0x8664: "AMD64", 0xAA64: "ARM64", 0x01C4: "ARM"}

# What pefile lets through on damaged files, found by fuzzing, besides its own error.
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
    pefile.PEFormatError,
)

# Directories of the optional header, by their fixed index.
_IMPORT, _RESOURCE = 1, 2

# DLLs that every supported Windows has, as far as compiled Python modules import them.
_SYSTEM_DLLS = (
    "advapi32 bcrypt bcryptprimitives cfgmgr32 combase comctl32 comdlg32 crypt32 d3d11 d3d12",
    "dbghelp dnsapi dwmapi dxgi gdi32 imagehlp imm32 iphlpapi kernel32 kernelbase mpr msvcrt",
    "mswsock ncrypt netapi32 normaliz ntdll ole32 oleaut32 opengl32 pdh powrprof propsys psapi",
    "rpcrt4 secur32 setupapi shell32 shlwapi synchronization ucrtbase user32 userenv uxtheme",
    "version winhttp wininet winmm wintrust wldap32 ws2_32 wsock32 wtsapi32",
)
SYSTEM_DLLS = frozenset(f"{name}.dll" for line in _SYSTEM_DLLS for name in line.split())


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


@contextlib.contextmanager
def opened(path: Path) -> Iterator[pefile.PE]:
    """The headers of a file; its content is `__data__` of what is given.

    Opened by name, `pefile` would have Python collect its garbage whenever a file is closed, which
    takes longer than reading one.

    Raises:
        FileNotFoundError: no regular file (a pipe or device would block).
        OSError, ValueError, pefile.PEFormatError and others of DAMAGE: unreadable or damaged.
    """
    if not is_file(path):
        raise FileNotFoundError(path)
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        yield pefile.PE(data=data, fast_load=True)


def _image(pe: pefile.PE) -> PeImage:
    imported = getattr(pe, "DIRECTORY_ENTRY_IMPORT", [])
    machine = pe.FILE_HEADER.Machine
    optional = pe.OPTIONAL_HEADER
    return PeImage(
        machine=MACHINES.get(machine, f"0x{machine:04X}"),
        bits=64 if pe.PE_TYPE == pefile.OPTIONAL_HEADER_MAGIC_PE_PLUS else 32,
        imports=_names(entry.dll for entry in imported),
        file_version=_version_strings(pe).get("FileVersion") or _fixed_version(pe),
        linker=f"{optional.MajorLinkerVersion}.{optional.MinorLinkerVersion}",
    )


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("ascii", "replace")


def _names(raw: Iterable[bytes | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_text(name) for name in raw if name))


def _version_strings(pe: pefile.PE) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in getattr(pe, "FileInfo", []):
        for info in block:
            for table in getattr(info, "StringTable", []):
                for key, value in table.entries.items():
                    # "14.0.24215.1 built by: VCTOOLSREL": the number is the first word
                    words = value.decode("utf-8", "replace").strip("\0 ").split()
                    found.setdefault(_text(key), words[0] if words else "")
    return found


def _fixed_version(pe: pefile.PE) -> str | None:
    fixed = getattr(pe, "VS_FIXEDFILEINFO", None)
    if not fixed:
        return None
    high, low = fixed[0].FileVersionMS, fixed[0].FileVersionLS
    return f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"


def is_api_set(name: str) -> bool:
    """Whether the name is one that Windows itself maps to a system DLL, no file of that name."""
    return name.lower().startswith(("api-ms-win-", "ext-ms-"))

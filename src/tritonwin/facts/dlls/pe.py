"""Windows programs and DLLs (PE files) as data: machine, version, imports, exports.

Nothing is loaded. `pefile` reads them, and every way in which a file can be broken becomes None.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonwin.facts.dlls.gpu_code import mapped

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
_EXPORT, _IMPORT, _RESOURCE, _DELAY_IMPORT = 0, 1, 2, 13
# The number of an export has 16 bits; `torch_cpu.dll` has more of them than `pefile` would read.
_MOST = 1 << 16
_INVALID = "*invalid*"  # pefile's word for a name that is none
_LONGEST = 255  # characters of a file's name

Function = str | int  # a name, or the number of one that is imported or exported without


@dataclass(frozen=True, kw_only=True)
class Import:
    """The imports from one DLL; `delayed`: at the first call, not when the file is loaded."""

    dll: str
    functions: tuple[Function, ...]
    delayed: bool = False


@dataclass(frozen=True, kw_only=True)
class PeImage:
    """The headers of a PE file. Names keep the spelling of the file."""

    machine: str  # "AMD64", "x86", "ARM64", else the number: "0x1234"
    bits: int
    imports: tuple[str, ...]  # DLLs needed to load it; those of the first call are left out
    file_version: str | None = None  # "14.44.35211.0", on request
    linker: str = ""  # "14.44": version of the linker that made it
    functions: tuple[Import, ...] = ()  # on request
    exports: frozenset[Function] = frozenset()  # on request: names, and the numbers of all


def read_pe(path: str | Path, *, version: bool = False, functions: bool = False) -> PeImage | None:
    """Read a file; None where it is absent, unreadable or no PE file.

    `version` adds the version of the resources, `functions` both tables of functions with the DLLs
    of the first call; they cost time in large files.
    """
    try:
        with opened(Path(path)) as pe:
            wanted = [_IMPORT, _RESOURCE] if version else [_IMPORT]
            pe.parse_data_directories(wanted, import_dllnames_only=True)
            image = _image(pe)
            return replace(image, **_functions(pe, image.imports)) if functions else image
    except DAMAGE:
        return None


def _functions(pe: pefile.PE, imports: tuple[str, ...]) -> dict[str, Any]:
    if pe.OPTIONAL_HEADER.DATA_DIRECTORY[_IMPORT].VirtualAddress and not imports:
        raise ValueError("the table of imports is damaged")
    pe.parse_data_directories([_EXPORT, _IMPORT, _DELAY_IMPORT])
    found: dict[tuple[str, bool], list[Function]] = {(name, False): [] for name in imports}
    for attribute, delayed in (("IMPORT", False), ("DELAY_IMPORT", True)):
        for entry in getattr(pe, f"DIRECTORY_ENTRY_{attribute}", []):
            found.setdefault((_text(entry.dll), delayed), []).extend(
                each.ordinal if each.import_by_ordinal else _text(each.name)
                for each in entry.imports
            )
    exports = getattr(pe, "DIRECTORY_ENTRY_EXPORT", None)
    symbols = exports.symbols if exports else []
    names = (_text(each.name) for each in symbols if each.name)
    return {
        "functions": tuple(
            Import(dll=dll, functions=tuple(wanted), delayed=delayed)
            for (dll, delayed), wanted in found.items()
        ),
        "exports": frozenset((*names, *(each.ordinal for each in symbols if each.address))),
    }


def _text(name: bytes | None) -> str:
    return (name or b"").decode("latin-1")


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

    with mapped(path) as data:
        pefile.MAX_IMPORT_SYMBOLS = _MOST
        try:
            yield pefile.PE(data=data, fast_load=True, max_symbol_exports=_MOST)
        except pefile.PEFormatError as error:
            raise ValueError(str(error)) from None


def _image(pe: pefile.PE) -> PeImage:
    imported = getattr(pe, "DIRECTORY_ENTRY_IMPORT", [])
    machine, optional = pe.FILE_HEADER.Machine, pe.OPTIONAL_HEADER
    names = [_text(entry.dll) for entry in imported]
    if any(name == _INVALID or len(name) > _LONGEST for name in names):
        raise ValueError("the name of a DLL is damaged")
    return PeImage(
        machine=MACHINES.get(machine, f"0x{machine:04X}"),
        bits=64 if pe.PE_TYPE == _PE32_PLUS else 32,
        imports=tuple(dict.fromkeys(name for name in names if name)),
        file_version=_version_text(pe),
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

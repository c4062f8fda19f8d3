"""Headers and import library with which the target's C modules are compiled.

Two kinds of import library are read: short import objects (Microsoft's and LLVM's tools; "PE
Format", section "Import Library Format") and the long objects of GNU dlltool, which keep the DLL's
name in a section `.idata$7`, as Microsoft's import descriptor does in `.idata$6`.
"""

from __future__ import annotations

import os
import posixpath
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tritonwin.facts.records import Interpreter, PythonDev
from tritonwin.system.files import is_file, names_in, read_bytes, same_place
from tritonwin.system.host import Host

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


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]{1,200})"', re.MULTILINE)
_VERSION = re.compile(r'^[ \t]*#[ \t]*define[ \t]+PY_VERSION[ \t]+"([^"\n]{1,40})"', re.MULTILINE)
_GIL_OFF = re.compile(r"^[ \t]*#[ \t]*define[ \t]+Py_GIL_DISABLED[ \t]+1\b", re.MULTILINE)
_GIL_TEMPLATE = re.compile(r"/\*[ \t]*#[ \t]*define[ \t]+Py_GIL_DISABLED\b")
_ROOTS = ("Python.h", "pyconfig.h", "patchlevel.h")
_FILES_LIMIT = 1000  # CPython 3.13 reads 123


@dataclass(frozen=True)
class Headers:
    """The headers in one include folder.

    `free_threaded` is None where the headers serve both builds: python.org's pyconfig.h for
    Windows carries `Py_GIL_DISABLED` commented out, to be defined by the compiling program.
    """

    version: str | None
    free_threaded: bool | None
    missing: tuple[str, ...]
    damaged: tuple[str, ...]


def read_headers(folder: Path) -> Headers | None:
    """Read the headers that `#include <Python.h>` would read; None where Python.h is absent.

    The list of headers is not a fixed one: every `#include "..."` is followed from Python.h on,
    so each minor version is held to its own. `pyconfig.h` of Debian only points to a folder of
    the architecture, in angle brackets; that is followed by the compiler, not here.
    """
    tree = _Tree(folder)
    if not tree.holds("Python.h"):
        return None
    texts: dict[str, str | None] = {}
    missing: set[str] = set()
    waiting = list(_ROOTS)
    while waiting and len(texts) + len(missing) < _FILES_LIMIT:
        name = waiting.pop()
        if name in texts:
            continue
        if not tree.holds(name):
            missing.add(name)
            continue
        texts[name] = text = tree.c_text(name)
        included = (_resolve(tree, name, wanted) for wanted in _INCLUDE.findall(text or ""))
        waiting += [n for n in included if not n.startswith(("/", "../"))]
    version = _VERSION.search(texts.get("patchlevel.h") or "")
    return Headers(
        version=version[1] if version else None,
        free_threaded=_free_threaded(texts.get("pyconfig.h")),
        missing=tuple(sorted(missing)),
        damaged=tuple(sorted(name for name, text in texts.items() if text is None)),
    )


class _Tree:
    """An include folder, each folder in it listed once: asking for each file is slow on Windows."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listed: dict[str, dict[str, bool]] = {}

    def holds(self, name: str) -> bool:
        return self._is_file(name) is not None

    def c_text(self, name: str) -> str | None:
        """The text of a header; None for what a compiler could not read as one.

        An HTML page instead of a header comes from saving a web page of a source browser.
        """
        content = read_bytes(self._root / name) if self._is_file(name) else None
        if content is None or b"\0" in content:
            return None
        text = content.decode("utf-8", "replace")
        start = text.lstrip("\ufeff \t\r\n")
        return text if start and not start.startswith("<") else None

    def _is_file(self, name: str) -> bool | None:
        folder, base = posixpath.split(name)
        if folder not in self._listed:
            self._listed[folder] = _listing(self._root / folder)
        return self._listed[folder].get(os.path.normcase(base))


def _listing(folder: Path) -> dict[str, bool]:
    try:
        with os.scandir(folder) as entries:
            return {os.path.normcase(entry.name): entry.is_file() for entry in entries}
    except OSError:
        return {}


def _resolve(tree: _Tree, includer: str, wanted: str) -> str:
    """The name below the folder: beside the including file, as compilers look, or at the top."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(includer), wanted))
    if wanted.startswith("../") or tree.holds(beside):
        return beside
    return posixpath.normpath(wanted)


def _free_threaded(pyconfig: str | None) -> bool | None:
    if pyconfig is None:
        return None
    if _GIL_OFF.search(pyconfig):
        return True
    return None if _GIL_TEMPLATE.search(pyconfig) else False


def find_python_dev(target: Interpreter, host: Host) -> PythonDev:
    """Find what the compilers of Triton and torch would be given for `target`.

    Headers: both take sysconfig's `include` and no other folder, so headers elsewhere (in a
    virtual environment's own folder, say) are listed but not chosen. Import library: the order
    of triton-windows' `find_python()`: `<prefix>\\libs`, `<base prefix>\\libs`, then `libs`
    beside python.exe; the first that holds `pythonXY.lib` (`pythonXYt.lib` when free-threaded).
    On Linux `libpythonX.Y` is looked for in the base installation, though modules do not need
    it.
    """
    includes = _include_folders(target, host)
    folder, headers = _headers(target, includes)
    libs = _libs_folders(target) if host.windows else ()
    library = _windows_library(target, libs) if host.windows else _posix_library(target)
    used = {folder, library.parent if library else None}
    imported = read_import_library(library) if library and host.windows else None
    return PythonDev(
        headers=str(folder) if folder else None,
        headers_version=headers.version if headers else None,
        headers_free_threaded=headers.free_threaded if headers else None,
        headers_missing=headers.missing if headers else (),
        headers_damaged=headers.damaged if headers else (),
        import_library=str(library) if library else None,
        import_library_dll=imported.dll if imported else None,
        import_library_machine=imported.machine if imported else None,
        passed_over=tuple(str(place) for place in (*includes, *libs) if place not in used),
    )


def _headers(target: Interpreter, folders: Iterable[Path]) -> tuple[Path | None, Headers | None]:
    for folder in folders:
        if not target.include or folder == Path(target.include):
            found = read_headers(folder)
            if found is not None:
                return folder, found
    return None, None


def _include_folders(target: Interpreter, host: Host) -> tuple[Path, ...]:
    """sysconfig's first; the others are where headers may lie without being used."""
    below = "Include" if host.windows else f"include/python{_version(target)}{_threads(target)}"
    asked = (Path(target.include),) if target.include else ()
    return _unique((*asked, *(root / below for root in _roots(target))))


def _libs_folders(target: Interpreter) -> tuple[Path, ...]:
    return _unique(root / "libs" for root in _roots(target)) if _version(target) else ()


def _windows_library(target: Interpreter, folders: Iterable[Path]) -> Path | None:
    name = f"python{_version(target).replace('.', '')}{_threads(target)}.lib"
    return next((folder / name for folder in folders if is_file(folder / name)), None)


def _posix_library(target: Interpreter) -> Path | None:
    root = target.base_prefix or target.prefix
    if not root or not _version(target):
        return None
    lib = Path(root, "lib")
    folders = (lib, Path(root, "lib64"), *(lib / n for n in names_in(lib) if "-linux-" in n))
    stem = f"libpython{_version(target)}{_threads(target)}"
    ends = (".so", ".a")
    return next((p for f in folders for e in ends if is_file(p := f / (stem + e))), None)


def _roots(target: Interpreter) -> tuple[Path, ...]:
    beside = str(Path(target.executable).parent)
    return _unique(Path(p) for p in (target.prefix, target.base_prefix, beside) if p)


def _unique(places: Iterable[Path]) -> tuple[Path, ...]:
    unique: dict[str, Path] = {}
    for place in places:
        unique.setdefault(same_place(place), place)
    return tuple(unique.values())


def _version(target: Interpreter) -> str:
    """ "3.12", or nothing where the target's version is unknown."""
    return ".".join((target.version or "").split(".")[:2])


def _threads(target: Interpreter) -> str:
    return "t" if target.free_threaded else ""

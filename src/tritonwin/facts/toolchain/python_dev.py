"""Headers and import library with which the target's C modules are compiled.

Two kinds of import library are read: short import objects (Microsoft's and LLVM's tools; "PE
Format", section "Import Library Format") and the long objects of GNU dlltool.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tritonwin.facts.records import Interpreter, PythonDev
from tritonwin.system.files import as_text, is_file, names_in, read_bytes, same_place
from tritonwin.system.host import Host

# The first object of an archive begins with the machine, in short import objects after 6 bytes. The
# tables of symbols that come before it are objects whose names begin with a slash.
_OBJECT = re.compile(rb"\n(?!/[ /<S])[^\n]{58}`\n(?:\0\0\xff\xff\0\0)?(\x64\x86|\x4c\x01|\x64\xaa)")
_MACHINES = {b"\x64\x86": "x64", b"\x4c\x01": "x86", b"\x64\xaa": "arm64"}
_DLL_NAME = re.compile(rb"\0([!-~]{1,200}\.dll)\0", re.IGNORECASE)


def read_import_library(path: Path) -> tuple[str, str | None] | None:
    """The first DLL that the library names, and its machine ("x64", "x86", "arm64").

    None for anything that is not an import library.
    """
    content = read_bytes(path) or b""
    dll, machine = _DLL_NAME.search(content), _OBJECT.search(content)
    if not content.startswith(b"!<arch>\n") or dll is None:
        return None
    return dll[1].decode("ascii"), _MACHINES[machine[1]] if machine else None


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]{1,200})"', re.MULTILINE)
_VERSION = re.compile(r'^[ \t]*#[ \t]*define[ \t]+PY_VERSION[ \t]+"([^"\n]{1,40})"', re.MULTILINE)
_GIL_OFF = re.compile(r"^[ \t]*#[ \t]*define[ \t]+Py_GIL_DISABLED[ \t]+1\b", re.MULTILINE)
_GIL_TEMPLATE = re.compile(r"/\*[ \t]*#[ \t]*define[ \t]+Py_GIL_DISABLED\b")
_ROOTS = ("Python.h", "pyconfig.h", "patchlevel.h")
_FILES_LIMIT = 1000  # CPython 3.13 reads 123


def read_headers(folder: Path) -> PythonDev | None:
    """Read the headers that `#include <Python.h>` would read; None where Python.h is absent.

    The list of headers is not a fixed one: every `#include "..."` is followed from Python.h on,
    so each minor version is held to its own. `pyconfig.h` of Debian only points to a folder of
    the architecture, in angle brackets; that is followed by the compiler, not here.
    """
    listed: dict[str, set[str]] = {}  # each folder once: asking for each file is slow on Windows

    def holds(name: str) -> bool:
        below, base = posixpath.split(name)
        if below not in listed:
            listed[below] = set(map(os.path.normcase, names_in(folder / below)))
        return os.path.normcase(base) in listed[below]

    if not holds("Python.h"):
        return None
    texts: dict[str, str | None] = {}
    missing: set[str] = set()
    waiting = list(_ROOTS)
    while waiting and len(texts) + len(missing) < _FILES_LIMIT:
        name = waiting.pop()
        if name in texts:
            continue
        if not holds(name):
            missing.add(name)
            continue
        texts[name] = text = _c_text(folder / name)
        for wanted in _INCLUDE.findall(text or ""):
            # beside the including file, as compilers look, or at the top
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), wanted))
            if not (wanted.startswith("../") or holds(beside)):
                beside = posixpath.normpath(wanted)
            if not beside.startswith(("/", "../")):
                waiting.append(beside)
    version = _VERSION.search(texts.get("patchlevel.h") or "")
    config = texts.get("pyconfig.h")
    off = config is not None and bool(_GIL_OFF.search(config))
    either = config is None or (not off and bool(_GIL_TEMPLATE.search(config)))
    return PythonDev(
        headers=str(folder),
        headers_version=version[1] if version else None,
        headers_free_threaded=None if either else off,
        headers_missing=tuple(sorted(missing)),
        headers_damaged=tuple(sorted(name for name, text in texts.items() if text is None)),
    )


def _c_text(path: Path) -> str | None:
    """The text of a header; None for what a compiler could not read as one.

    An HTML page instead of a header comes from saving a web page of a source browser.
    """
    content = read_bytes(path)
    if content is None or b"\0" in content:
        return None
    text = content.decode("utf-8", "replace")
    start = text.lstrip("\ufeff \t\r\n")
    return text if start and not start.startswith("<") else None


def find_python_dev(target: Interpreter, host: Host) -> PythonDev:
    """Find what the compilers of Triton and torch would be given for `target`.

    Headers: both take sysconfig's `include` and no other folder, so headers elsewhere (in a
    virtual environment's own folder, say) are listed but not chosen. Import library: the order
    of triton-windows' `find_python()`: `<prefix>\\libs`, `<base prefix>\\libs`, then `libs`
    beside python.exe; the first that holds `pythonXY.lib` (`pythonXYt.lib` when free-threaded).
    On Linux modules need none.
    """
    version = ".".join((target.version or "").split(".")[:2])  # "3.12", "" where it is unknown
    threads = "t" if target.free_threaded else ""
    beside = str(Path(target.executable).parent)
    roots = _unique(Path(p) for p in (target.prefix, target.base_prefix, beside) if p)
    below = "Include" if host.windows else f"include/python{version}{threads}"
    # sysconfig's first; the others are where headers may lie without being used
    asked = (Path(target.include),) if target.include else ()
    includes = _unique((*asked, *(root / below for root in roots)))
    read = (read_headers(f) for f in includes if not asked or f == asked[0])
    dev = next((found for found in read if found), PythonDev())
    libs = _unique(root / "libs" for root in roots) if host.windows and version else ()
    name = f"python{version.replace('.', '')}{threads}.lib"
    library = next((path for folder in libs if is_file(path := folder / name)), None)
    dll, machine = (read_import_library(library) if library else None) or (None, None)
    used = {dev.headers, str(library.parent) if library else None}
    return replace(
        dev,
        import_library=as_text(library),
        import_library_dll=dll,
        import_library_machine=machine,
        passed_over=tuple(p for p in map(str, (*includes, *libs)) if p not in used),
    )


def _unique(places: Iterable[Path]) -> tuple[Path, ...]:
    unique: dict[str, Path] = {}
    for place in places:
        unique.setdefault(same_place(place), place)
    return tuple(unique.values())

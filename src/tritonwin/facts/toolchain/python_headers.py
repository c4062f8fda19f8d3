"""CPython's C headers in a folder: which version, and is any of them missing or damaged?"""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from tritonwin.system.files import read_bytes

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]{1,200})"', re.MULTILINE)
_VERSION = re.compile(r'^[ \t]*#[ \t]*define[ \t]+PY_VERSION[ \t]+"([^"\n]{1,40})"', re.MULTILINE)
_GIL_OFF = re.compile(r"^[ \t]*#[ \t]*define[ \t]+Py_GIL_DISABLED[ \t]+1\b", re.MULTILINE)
_GIL_TEMPLATE = re.compile(r"/\*[ \t]*#[ \t]*define[ \t]+Py_GIL_DISABLED\b")
_ROOTS = ("Python.h", "pyconfig.h", "patchlevel.h")
_FILES_LIMIT = 1000  # CPython 3.13 reads 123


@dataclass(frozen=True)
class Headers:
    """What lies in one include folder.

    `free_threaded` is None where the headers serve both builds: python.org's pyconfig.h for
    Windows carries `Py_GIL_DISABLED` commented out, to be defined by whoever compiles.
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

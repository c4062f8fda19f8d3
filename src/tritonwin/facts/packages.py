"""The packages that matter (`packages.toml`), the folder that Python would import one from, and
files that hide one.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from tritonwin.facts.records import Interpreter, SearchedFor, Shadow
from tritonwin.system.files import is_file, is_folder, names_in, paths_in, read_text, same_place
from tritonwin.system.host import Host
from tritonwin.system.toml import read_resource

_MAPPING = re.compile(r"^MAPPING\b[^=\n]*=\s*(\{[^{}\n]*\})", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The content of `packages.toml`. Names are normalised."""

    names: tuple[str, ...]  # distributions whose metadata is read
    prefixes: tuple[str, ...]
    triton: tuple[str, ...]  # distributions that bring a folder `triton`, best for Windows first
    key_files: dict[str, tuple[str, ...]]
    extensions: dict[str, tuple[str, ...]]

    @property
    def other_tritons(self) -> tuple[str, ...]:
        """Those of `triton` that are not made for Windows."""
        return self.triton[1:]

    def matters(self, name: str) -> bool:
        return name in self.names or name in self.triton or name.startswith(self.prefixes)

    def key_files_of(self, name: str) -> tuple[str, ...]:
        return self.key_files.get("triton" if name in self.triton else name, ())


@cache
def knowledge() -> Knowledge:
    """The shipped knowledge about packages."""
    return read_resource("tritonwin.facts", "packages.toml", Knowledge)


def search_path(target: Interpreter) -> tuple[Path, ...]:
    """The folders that the target imports from, in its order, each once."""
    spelled = target.sys_path + target.site_packages
    spelled += (target.user_site,) if target.user_site and not target.sys_path else ()
    unique: dict[str, Path] = {}
    for folder in map(Path, filter(None, spelled)):
        unique.setdefault(same_place(folder), folder)
    return tuple(unique.values())


def platlib(target: Interpreter) -> Path | None:
    """The folder in which Triton looks for the tools that it brings, wherever it is installed.

    triton-windows asks `sysconfig.get_path("platlib")`: with `pip install --user` and
    `pip install -e` its tools lie elsewhere, and it does not find them.
    """
    known = target.platlib or next(iter(target.site_packages), None)
    return Path(known) if known else None


def find_package(target: Interpreter, name: str) -> Path | None:
    """The folder that the target imports as `name`: a real package anywhere on its path before
    a folder without `__init__.py`, as the import system does it, and that before what the finder
    of an editable install maps."""
    places = search_path(target)
    mapped = (Path(path) for folder in places if (path := _mapping(folder).get(name)))
    real = (folder / name for folder in places if is_file(folder / name / "__init__.py"))
    hollow = (folder / name for folder in places if is_folder(folder / name))
    editable = (path for path in mapped if is_file(path / "__init__.py"))
    return next(chain(real, hollow, editable), None)


def _mapping(folder: Path) -> dict[str, str]:
    """Package to folder, as setuptools writes it into the finder of an editable install."""
    found: dict[str, str] = {}
    for finder in paths_in(folder, "__editable__*_finder.py"):
        match = _MAPPING.search(read_text(finder) or "")
        with contextlib.suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            entries = ast.literal_eval(match[1]) if match else {}
            if isinstance(entries, dict):  # {1} is a set
                found.update((k, v) for k, v in entries.items() if isinstance(v, str))
    return found


def python_path(target: Interpreter, host: Host) -> tuple[str, ...]:
    """The entries that PYTHONPATH adds in an ordinary start; a `._pth` file rules it out."""
    if target.pth is not None:
        return ()
    entries = (host.env.get("PYTHONPATH") or "").split(";" if host.windows else ":")
    return tuple(str(host.cwd / entry) for entry in entries if entry)


# Module -> a pattern in its folder that only the real, built package has.
_MODULES = {"triton": "_C/libtriton*", "torch": "_C*"}


def read_shadows(target: Interpreter, host: Host) -> tuple[Shadow, ...]:
    """Files and folders named `triton` or `torch` that Python would import instead of the package.

    A folder without `__init__.py` does no harm: a real package anywhere on the path wins over it.
    """
    found: dict[str, Shadow] = {}
    for folder, reason in _folders(target, host):
        for module in _MODULES:
            for path in _hiding(folder, module):
                found.setdefault(
                    same_place(path), Shadow(module=module, path=str(path), reason=reason)
                )
    return tuple(found.values())


def _folders(target: Interpreter, host: Host) -> Iterator[tuple[Path, SearchedFor]]:
    yield host.cwd, "current folder"
    if host.app:
        yield host.app, "application folder"
    installed = {same_place(folder) for folder in search_path(target)}
    for folder in map(Path, python_path(target, host)):
        if same_place(folder) not in installed:
            yield folder, "PYTHONPATH"


def _hiding(folder: Path, module: str) -> Iterator[Path]:
    names = names_in(folder)  # Python compares case even where the file system does not
    package = folder / module
    if module in names and is_file(package / "__init__.py"):
        if not paths_in(package, _MODULES[module]):
            yield package
    elif f"{module}.py" in names:
        yield folder / f"{module}.py"

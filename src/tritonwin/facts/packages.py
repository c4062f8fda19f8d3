"""The packages that matter (`packages.toml`), and the folder that Python would import one from."""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tritonwin.facts.model import Interpreter
from tritonwin.system.files import is_file, is_folder, paths_in, read_text, same_place
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
    """Where Triton looks for the tools that it brings, wherever it is installed itself.

    triton-windows asks `sysconfig.get_path("platlib")`: with `pip install --user` and
    `pip install -e` its tools lie elsewhere, and it does not find them.
    """
    known = target.platlib or next(iter(target.site_packages), None)
    return Path(known) if known else None


@dataclass(frozen=True, kw_only=True)
class PackageFolder:
    """A folder that `import NAME` gives. `namespace`: it has no `__init__.py`."""

    path: Path
    namespace: bool


def find_package(target: Interpreter, name: str) -> PackageFolder | None:
    """The folder that the target imports as `name`: a real package anywhere on its path before
    a folder without `__init__.py`, as the import system does it, and that before what the finder
    of an editable install maps."""
    folders = [folder / name for folder in search_path(target)]
    for folder in folders:
        if is_file(folder / "__init__.py"):
            return PackageFolder(path=folder, namespace=False)
    leftover = next((folder for folder in folders if is_folder(folder)), None)
    if leftover is not None:
        return PackageFolder(path=leftover, namespace=True)
    mapped = (_mapping(folder).get(name) for folder in search_path(target))
    found = next((Path(path) for path in mapped if path), None)
    if found is None or not is_file(found / "__init__.py"):
        return None
    return PackageFolder(path=found, namespace=False)


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

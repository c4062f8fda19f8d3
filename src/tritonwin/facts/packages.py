"""The packages that matter (`packages.toml`), and the folder that Python would import one from."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from tritonwin.facts.files import is_file, is_folder, same_place
from tritonwin.facts.model import Interpreter

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The content of `packages.toml`. Names are normalised."""

    names: frozenset[str]
    prefixes: tuple[str, ...]
    triton: tuple[str, ...]  # distributions that bring a folder `triton`, best for Windows first
    key_files: dict[str, tuple[str, ...]]
    extensions: dict[str, tuple[str, ...]]

    def matters(self, name: str) -> bool:
        return name in self.names or name in self.triton or name.startswith(self.prefixes)

    def key_files_of(self, name: str) -> tuple[str, ...]:
        return self.key_files.get("triton" if name in self.triton else name, ())


@cache
def knowledge() -> Knowledge:
    """The shipped knowledge about packages."""
    data = tomllib.loads(files("tritonwin.facts").joinpath("packages.toml").read_text("utf-8"))
    return Knowledge(
        names=frozenset(data["names"]),
        prefixes=tuple(data["prefixes"]),
        triton=tuple(data["triton"]),
        key_files={name: tuple(paths) for name, paths in data["key-files"].items()},
        extensions={name: tuple(patterns) for name, patterns in data["extensions"].items()},
    )


def normalise(name: str) -> str:
    """A distribution's name as the packaging standards compare it: "triton-windows"."""
    return re.sub(r"[-_.]+", "-", name).lower()


def search_path(target: Interpreter) -> tuple[Path, ...]:
    """The folders that the target imports from, in its order, each once."""
    spelled = target.sys_path + target.site_packages
    spelled += (target.user_site,) if target.user_site and not target.sys_path else ()
    unique: dict[str, Path] = {}
    for folder in map(Path, filter(None, spelled)):
        unique.setdefault(same_place(folder), folder)
    return tuple(unique.values())


@dataclass(frozen=True, kw_only=True)
class PackageFolder:
    """A folder that `import NAME` gives. `namespace`: it has no `__init__.py`."""

    path: Path
    namespace: bool


def find_package(target: Interpreter, name: str) -> PackageFolder | None:
    """The folder that the target imports as `name`: a real package anywhere on its path before
    a folder without `__init__.py`, as the import system does it."""
    folders = [folder / name for folder in search_path(target)]
    for folder in folders:
        if is_file(folder / "__init__.py"):
            return PackageFolder(path=folder, namespace=False)
    leftover = next((folder for folder in folders if is_folder(folder)), None)
    return None if leftover is None else PackageFolder(path=leftover, namespace=True)

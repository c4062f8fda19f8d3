"""Where Pythons lie: PATH, registry, environment managers, and folders beside the user's work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.interpreter_kind import uv_folders
from tritonwin.facts.model import PythonKind
from tritonwin.facts.pep514 import registrations
from tritonwin.facts.python_layout import python_in
from tritonwin.system.files import is_file, is_folder, paths_in, read_text
from tritonwin.system.host import Host

# How ComfyUI portable, FramePack and their kin name the Python that they carry.
EMBEDDED_FOLDERS = ("python_embeded", "python_embedded", "python_embed", "system/python", "python")
ENVIRONMENT_FOLDERS = (".venv", "venv", "env")

_CHILDREN = 200  # subfolders of the current folder that are looked into
_POSIX_NAMES = ("python3", "python", *(f"python3.{minor}" for minor in range(15, 7, -1)))


@dataclass(frozen=True, kw_only=True)
class Place:
    """An interpreter that some source names. The file exists, or is a Store alias."""

    path: Path
    source: str
    version: str | None = None
    kind: PythonKind | None = None


def near(folder: Path, host: Host) -> Iterator[Place]:
    """Pythons of the application that a folder belongs to, embedded ones first.

    The folder itself may be the Python's, hold it, lie beside it (ComfyUI's folder lies beside
    `python_embeded`), or hold the application's folder.
    """
    own = python_in(folder, host)
    if own is not None:
        yield Place(path=own, source=f"folder {folder}")
    for names in (EMBEDDED_FOLDERS, ENVIRONMENT_FOLDERS):
        for parent in (folder, *_children(folder), folder.parent):
            for name in names:
                path = python_in(parent / name, host)
                if path is not None:
                    yield Place(path=path, source=f"folder {parent / name}")


def places(host: Host) -> Iterator[Place]:
    """Every interpreter, in the order in which a user would meet them."""
    yield from on_path(host)
    yield from _activated(host)
    yield from near(host.cwd, host)
    if host.app is not None:
        yield from near(host.app, host)
    yield from _registered(host)
    yield from _in_folders(host, "installation", _installations(host))
    yield from _in_folders(host, "pyenv", _pyenv(host))
    yield from _in_folders(host, "uv", _children_of(uv_folders(host)))
    yield from _in_folders(host, "conda", _conda(host))
    yield from _in_folders(host, "poetry", _poetry(host))


def on_path(host: Host) -> Iterator[Place]:
    """The Pythons of PATH, folder by folder, Store aliases included."""
    names = ("python", "python3") if host.windows else _POSIX_NAMES
    order = {folder: index for index, folder in enumerate(reversed(host.env.path_entries()))}
    found = [path for name in names for path in host.executables(name)]
    for path in sorted(found, key=lambda path: -order[path.parent]):
        yield Place(path=path, source="PATH")


def _activated(host: Host) -> Iterator[Place]:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = host.env.folder(name)
        path = python_in(folder, host) if folder else None
        if path is not None:
            yield Place(path=path, source=f"variable {name}")


def _registered(host: Host) -> Iterator[Place]:
    for entry in registrations(host):
        if is_file(entry.executable):
            yield Place(
                path=entry.executable, source=entry.source, version=entry.version, kind=entry.kind
            )


def _in_folders(host: Host, source: str, folders: Iterable[Path]) -> Iterator[Place]:
    for folder in folders:
        path = python_in(folder, host)
        if path is not None:
            yield Place(path=path, source=f"{source} {folder}")


def _installations(host: Host) -> Iterator[Path]:
    """Where python.org's installers put Python, without asking the registry."""
    if not host.windows:
        return
    local = host.env.folder("LOCALAPPDATA")
    drive = host.env.folder("SystemDrive")
    if local is not None:
        yield from _matching(local / "Programs" / "Python", "Python3*")
        yield from _matching(local / "Python", "pythoncore-3*")  # the Python install manager
    for folder in host.program_files():
        yield from _matching(folder, "Python3*")
    if drive is not None:
        yield from _matching(Path(f"{drive}{os.sep}"), "Python3*")


def _pyenv(host: Host) -> Iterator[Path]:
    home = host.home / ".pyenv"
    roots = (
        host.env.folder("PYENV_ROOT"),
        host.env.folder("PYENV"),
        home / "pyenv-win" if host.windows else home,
    )
    yield from _children_of(root / "versions" for root in roots if root is not None)


def _conda(host: Host) -> Iterator[Path]:
    """Base installations and their environments, and those that conda itself noted."""
    roots = []
    program = host.env.folder("CONDA_EXE")
    if program is not None:
        roots.append(program.parent.parent)
    shared = host.env.folder("ProgramData")
    for folder in (host.home, shared):
        if folder is not None:
            names = ("miniconda3", "anaconda3", "miniforge3", "mambaforge")
            roots += [folder / name for name in names]
    for root in roots:
        yield root
        yield from _children(root / "envs")
    text = read_text(host.home / ".conda" / "environments.txt") or ""
    yield from (Path(line) for line in text.splitlines()[:_CHILDREN] if line)


def _poetry(host: Host) -> Iterator[Path]:
    named = host.env.folder("POETRY_VIRTUALENVS_PATH")
    cache = host.env.folder("POETRY_CACHE_DIR")
    local = host.env.folder("LOCALAPPDATA")
    folders = (
        named,
        cache / "virtualenvs" if cache else None,
        local / "pypoetry" / "Cache" / "virtualenvs" if local else None,
        None if host.windows else host.home / ".cache" / "pypoetry" / "virtualenvs",
    )
    yield from _children_of(folder for folder in folders if folder is not None)


def _children_of(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from _children(folder)


def _children(folder: Path) -> list[Path]:
    return _matching(folder, "*")


def _matching(folder: Path, pattern: str) -> list[Path]:
    return [path for path in paths_in(folder, pattern) if is_folder(path)][:_CHILDREN]

"""The Pythons of a machine, and the one to examine when the user names none.

Pythons are found on PATH, in the registry (PEP 514), in the folders of environment managers and
beside the user's work. Only the target is started; of the others files and registry are read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tritonwin.facts.python_layout import (
    backslashes,
    describe,
    is_store_alias,
    python_in,
    read_pyvenv,
    uv_folders,
)
from tritonwin.facts.records import ChosenBy, Interpreter, PythonKind
from tritonwin.facts.target import TargetError
from tritonwin.system.files import is_file, is_folder, paths_in, read_bytes, read_text
from tritonwin.system.host import Host

_HIVES: tuple[tuple[str, PythonKind], ...] = (("HKCU", "user"), ("HKLM", "system"))
_NO_PYTHON = "pylauncher"  # the launcher's own settings, which PEP 514 tells readers to skip
_LAUNCHER = "PythonCore"  # the company whose tags `py -3.12` names
_SETTINGS_LIMIT = 65536  # bytes of a py.ini that are read


@dataclass(frozen=True, kw_only=True)
class FoundPython:
    """An interpreter that some source names. The file exists, or is a Store alias."""

    path: Path
    source: str
    version: str | None = None
    kind: PythonKind | None = None


def registered(host: Host) -> Iterator[FoundPython]:
    """Every `Software\\Python\\COMPANY\\TAG`, user before machine, 64-bit view before 32-bit view.

    The one that `py` starts without arguments is marked in its source. Those that are gone from
    the disk are named as well.
    """
    found: dict[Path, tuple[str, FoundPython]] = {}  # beside the tag, "" if `py` does not know it
    for hive, kind in _HIVES:
        for view in (64, 32):
            root = f"{hive}\\SOFTWARE\\Python"
            for company in host.registry.subkeys(root, view=view):
                if company.lower() == _NO_PYTHON:
                    continue
                for tag in host.registry.subkeys(f"{root}\\{company}", view=view):
                    key = f"{root}\\{company}\\{tag}"
                    path = _executable(host, key, view)
                    if path is not None and path not in found:
                        version = _version(host, key, tag, view)
                        source = f"registry {key}"
                        python = FoundPython(path=path, source=source, version=version, kind=kind)
                        found[path] = (tag if company == _LAUNCHER else "", python)
    started = _launcher_tag(host, [tag for tag, _ in found.values() if tag])
    for tag, python in found.values():
        mark = " (what `py` starts)" if tag and tag == started else ""
        yield replace(python, source=f"{python.source}{mark}")


def _executable(host: Host, key: str, view: int) -> Path | None:
    install = f"{key}\\InstallPath"
    named = host.registry.value(install, "ExecutablePath", view=view)
    if isinstance(named, str) and named:
        return Path(named)
    folder = host.registry.value(install, "", view=view)
    return Path(folder) / "python.exe" if isinstance(folder, str) and folder else None


def _version(host: Host, key: str, tag: str, view: int) -> str | None:
    values = (host.registry.value(key, name, view=view) for name in ("Version", "SysVersion"))
    for text in (*values, tag):
        match = re.match(r"3\.\d+(\.\d+)?", text) if isinstance(text, str) else None
        if match:
            return match.group()
    return None


def _launcher_tag(host: Host, tags: list[str]) -> str | None:
    """The tag that `py` chooses: PY_PYTHON, py.ini, else the newest that is no pre-release build.

    Source: "Python Launcher for Windows" in the manual of CPython, section "Customization".
    """
    wanted = host.env.get("PY_PYTHON") or _ini_default(host)
    if wanted:
        # "3" leaves the minor to a setting of its own, which few people know; take the newest
        tags = [tag for tag in tags if tag == wanted or tag.startswith(f"{wanted}.")]
    return max(tags, key=_order, default=None)


def _order(tag: str) -> tuple[int, bool]:
    match = re.match(r"3\.(\d+)(.*)", tag)
    return (int(match[1]), not match[2]) if match else (-1, False)


def _ini_default(host: Host) -> str | None:
    for folder in (host.env.folder("LOCALAPPDATA"), host.env.folder("SystemRoot")):
        if folder is None:
            continue
        text = (read_bytes(folder / "py.ini", _SETTINGS_LIMIT) or b"").decode(
            "utf-8-sig", "replace"
        )
        match = re.search(r"(?im)^[ \t]*python[ \t]*=[ \t]*(\S+)", text)
        if match:
            return match[1]
    return None


# How ComfyUI portable, FramePack and their kin name the Python that they carry.
EMBEDDED_FOLDERS = ("python_embeded", "python_embedded", "python_embed", "system/python", "python")
ENVIRONMENT_FOLDERS = (".venv", "venv", "env")

_CHILDREN = 200  # subfolders of the current folder that are looked into
_POSIX_NAMES = ("python3", "python", *(f"python3.{minor}" for minor in range(15, 7, -1)))


def near(folder: Path, host: Host) -> Iterator[FoundPython]:
    """Pythons of the application that a folder belongs to, embedded ones first.

    The folder itself may be the Python's, hold it, lie beside it (ComfyUI's folder lies beside
    `python_embeded`), or hold the application's folder.
    """
    everywhere = (folder, *_children(folder), folder.parent)
    yield from _carried(folder, everywhere, everywhere, host)


def _here(host: Host) -> Iterator[FoundPython]:
    """Pythons of the current folder: of the projects below it or beside it none is meant."""
    yield from _carried(host.cwd, (host.cwd, host.cwd.parent), (host.cwd,), host)


def _carried(
    folder: Path, embedded: Iterable[Path], environments: Iterable[Path], host: Host
) -> Iterator[FoundPython]:
    own = python_in(folder, host)
    if own is not None:
        yield FoundPython(path=own, source=f"folder {folder}")
    for names, parents in ((EMBEDDED_FOLDERS, embedded), (ENVIRONMENT_FOLDERS, environments)):
        for parent in parents:
            for name in names:
                path = python_in(parent / name, host)
                if path is not None:
                    yield FoundPython(path=path, source=f"folder {parent / name}")


def places(host: Host) -> Iterator[FoundPython]:
    """Every interpreter, in the order in which a user would meet them."""
    yield from on_path(host)
    for name, path in _activated(host):
        yield FoundPython(path=path, source=f"variable {name}")
    yield from near(host.cwd, host)
    if host.app is not None:
        yield from near(host.app, host)
    yield from (python for python in registered(host) if is_file(python.path))
    yield from _in_folders(host, "installation", _installations(host))
    yield from _in_folders(host, "pyenv", _pyenv(host))
    yield from _in_folders(host, "uv", _children_of(uv_folders(host)))
    yield from _in_folders(host, "conda", _conda(host))
    yield from _in_folders(host, "poetry", _poetry(host))


def on_path(host: Host) -> Iterator[FoundPython]:
    """The Pythons of PATH, folder by folder, Store aliases included."""
    names = ("python", "python3") if host.windows else _POSIX_NAMES
    order = {folder: index for index, folder in enumerate(reversed(host.env.path_entries()))}
    found = [path for name in names for path in host.executables(name)]
    for path in sorted(found, key=lambda path: -order[path.parent]):
        yield FoundPython(path=path, source="PATH")


def _activated(host: Host) -> Iterator[tuple[Literal["VIRTUAL_ENV", "CONDA_PREFIX"], Path]]:
    names: tuple[Literal["VIRTUAL_ENV", "CONDA_PREFIX"], ...] = ("VIRTUAL_ENV", "CONDA_PREFIX")
    for name in names:
        folder = host.env.folder(name)
        path = python_in(folder, host) if folder else None
        if path is not None:
            yield name, path


def _in_folders(host: Host, source: str, folders: Iterable[Path]) -> Iterator[FoundPython]:
    for folder in folders:
        path = python_in(folder, host)
        if path is not None:
            yield FoundPython(path=path, source=f"{source} {folder}")


def _installations(host: Host) -> Iterator[Path]:
    """The folders of python.org's installers, without asking the registry."""
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


def find_interpreters(host: Host) -> tuple[Interpreter, ...]:
    """All Pythons in the order in which a user would meet them, each once.

    PATH comes first, then activated environments, the folders near the current one and below
    `host.app`, the registry (PEP 514), and what the usual managers keep. `source` says where a
    Python was met first. Scripts that start a Python, such as pyenv's shims, are left out: what
    they lead to is listed on its own.
    """
    found: dict[str, Interpreter] = {}
    for place in places(host):
        key = _identity(place.path, host)
        if key not in found and (host.windows or not _is_script(place.path)):
            found[key] = describe(
                place.path, place.source, host, version=place.version, kind=place.kind
            )
    return tuple(found.values())


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _identity(executable: Path, host: Host) -> str:
    """Equal for two names of one Python.

    A virtual environment is its folder: on Linux its executable is a link to that of the base. On
    Windows `python.exe` and `python3.exe` of one folder are copies; only the free-threaded
    `python3.13t.exe` beside them is another Python.
    """
    if is_store_alias(executable):
        return str(executable).lower()
    pyvenv = read_pyvenv(executable)
    if pyvenv is not None:
        return os.path.normcase(os.path.realpath(pyvenv.folder))
    real = Path(os.path.realpath(executable))
    if not host.windows:
        return str(real)
    return f"{real.parent}|{real.stem.endswith('t')}".lower()


NAME_IT = "Name the interpreter: --python PATH\\TO\\python.exe, or the application: --app FOLDER"

# Files that pipx and `uv tool` leave in the environments that they make for one program, and the
# places of `uvx`, which leaves none.
_TOOL_MARKERS = ("pipx_metadata.json", "uv-receipt.toml")
_TOOL_PLACES = ("\\uv\\tools\\", "\\pipx\\venvs\\", "\\archive-v0\\", "\\environments-v")


@dataclass(frozen=True)
class TargetChoice:
    """The interpreter to examine, and why it is that one."""

    executable: str
    chosen_by: ChosenBy
    source: str  # in words, for people
    planted: bool = False  # found for the current folder alone: anybody may have put it there


def find_target(
    host: Host,
    python: str | None = None,
    app: Path | None = None,
    *,
    own_executable: str = sys.executable,
    own_prefix: str = sys.prefix,
) -> TargetChoice:
    """Choose the interpreter to examine.

    Order: `python` (a file, a folder, or a name on PATH); the Python of `app`; the interpreter
    that runs this program when it is an embedded one, since nobody starts such a one by accident;
    `VIRTUAL_ENV`; `CONDA_PREFIX`; a Python that the current folder carries; our own interpreter
    when torch or Triton is installed in it; the first on PATH; our own. Store aliases and the
    environment that pipx or uv made for this program are never chosen. A Python that the current
    folder carries is `planted`, unless it runs this program.

    Raises:
        TargetError: nothing fits, or `python` or `app` lead to no interpreter.
    """
    if python is not None:
        return _named(python, host)
    if app is not None:
        return _of_application(app, host)
    avoided = Path(own_prefix) if is_tool_environment(Path(own_prefix)) else None
    own = None if avoided or not own_executable else Path(own_executable)
    for choice in _candidates(host, own):
        if not is_store_alias(choice.executable) and not _below(choice.executable, avoided):
            return choice
    if avoided is not None:
        msg = f"no Python to examine was found; {avoided} was made for tritonwin alone"
    else:
        msg = "no Python to examine was found"
    raise TargetError(msg, NAME_IT)


def is_tool_environment(prefix: Path) -> bool:
    """True if pipx, `uv tool` or `uvx` made this environment for one program."""
    place = backslashes(prefix).lower() + "\\"
    return any(is_file(prefix / name) for name in _TOOL_MARKERS) or any(
        part in place for part in _TOOL_PLACES
    )


def _named(python: str, host: Host) -> TargetChoice:
    path = Path(os.path.expanduser(python))  # noqa: PTH111 - Path's raises for an unknown user
    if is_folder(path):
        inside = python_in(path, host)
        if inside is None:
            raise TargetError(f"{path} is a folder without a Python in it", NAME_IT)
        return TargetChoice(
            str(inside.absolute()), "python-folder", f"--python names its folder {path}"
        )
    if path.parent == Path() and not is_file(path):
        # a bare name means PATH; the current folder is not searched for programs
        found = host.executables(path.name.removesuffix(".exe"))
        if not found:
            raise TargetError(f"no program called {python} on PATH", NAME_IT)
        return TargetChoice(str(found[0]), "python-on-path", "--python names it, found on PATH")
    return TargetChoice(str(path.absolute()), "python", "--python names it")


def _of_application(app: Path, host: Host) -> TargetChoice:
    if not is_folder(app):
        raise TargetError(
            f"{app} is not a folder",
            "Name the folder of ComfyUI, FramePack or the like: --app FOLDER",
        )
    for place in near(app.absolute(), host):
        return TargetChoice(str(place.path), "app", f"the Python of the application in {app}")
    raise TargetError(f"no Python in or beside {app}", NAME_IT)


def _candidates(host: Host, own: Path | None) -> Iterator[TargetChoice]:
    known = describe(own, "running", host) if own else None
    if known and known.kind == "embedded":
        yield TargetChoice(str(own), "running-embedded", "the embedded Python that runs tritonwin")
    for name, place in _activated(host):
        yield TargetChoice(str(place), name, f"the activated environment ({name})")
    for found in _here(host):
        planted = own is None or _identity(found.path, host) != _identity(own, host)
        where = "in" if found.path.is_relative_to(host.cwd) else "beside"
        yield TargetChoice(str(found.path), "near", f"{where} the current folder", planted)
    if known and known.packages:
        source = "the Python that runs tritonwin, with torch or Triton in it"
        yield TargetChoice(str(own), "running-with-packages", source)
    for found in on_path(host):
        yield TargetChoice(str(found.path), "first-on-path", "the first Python on PATH")
    if own:
        yield TargetChoice(str(own), "running", "the Python that runs tritonwin")


def _below(executable: str, folder: Path | None) -> bool:
    return folder is not None and Path(executable).is_relative_to(folder)

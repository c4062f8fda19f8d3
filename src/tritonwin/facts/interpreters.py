"""The Pythons of a machine, and the one to examine when the user names none.

Pythons are found on PATH, in the registry (PEP 514), in the folders of environment managers and
beside the user's work. Only the target is started; of the others files and registry are read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
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
from tritonwin.facts.records import ChosenBy, Interpreter
from tritonwin.facts.target import TargetError
from tritonwin.system.files import is_file, is_folder, paths_in, read_text, starts_with
from tritonwin.system.host import Host

_NO_PYTHON = "pylauncher"  # the launcher's own settings, which PEP 514 tells readers to skip

Found = tuple[Path, str]  # an interpreter, or an alias of the Store; where it was found


def _registered(host: Host) -> Iterator[Found]:
    """Every `Software\\Python\\COMPANY\\TAG`: user before machine, 64-bit before 32-bit view."""
    asked = host.registry
    for hive, view in product(("HKCU", "HKLM"), (64, 32)):
        root = f"{hive}\\SOFTWARE\\Python"
        companies = (c for c in asked.subkeys(root, view=view) if c.lower() != _NO_PYTHON)
        keys = (
            f"{root}\\{c}\\{t}" for c in companies for t in asked.subkeys(f"{root}\\{c}", view=view)
        )
        for key in keys:
            named = asked.value(f"{key}\\InstallPath", "ExecutablePath", view=view)
            folder = asked.value(f"{key}\\InstallPath", "", view=view)
            path = Path(str(named)) if named else Path(str(folder), "python.exe")
            if (named or folder) and is_file(path):
                yield path, f"registry {key}"


# How ComfyUI portable, FramePack and their kin name the Python that they carry.
EMBEDDED_FOLDERS = ("python_embeded", "python_embedded", "python_embed", "system/python", "python")
ENVIRONMENT_FOLDERS = (".venv", "venv", "env")

_CHILDREN = 200  # subfolders of the current folder that are looked into
_POSIX_NAMES = ("python3", "python", *(f"python3.{minor}" for minor in range(15, 7, -1)))


def near(folder: Path, host: Host, *, here: bool = False) -> Iterator[Found]:
    """Pythons of the application that a folder belongs to, embedded ones first.

    The folder itself may be the Python's, hold it, lie beside it (ComfyUI's folder lies beside
    `python_embeded`), or hold the application's folder.

    Args:
        here: leave out what may belong to other projects: Pythons of the folders below, and
            environments beside the folder.
    """
    around = (folder, *([] if here else _matching(folder)), folder.parent)
    environments = product((folder,) if here else around, ENVIRONMENT_FOLDERS)
    named = (parent / name for parent, name in (*product(around, EMBEDDED_FOLDERS), *environments))
    for place in (folder, *named):
        path = python_in(place, host)
        if path is not None:
            yield path, f"folder {place}"


def _places(host: Host) -> Iterator[Found]:
    """Every interpreter, in the order in which a user would meet them."""
    yield from _on_path(host)
    for name, path in _activated(host):
        yield path, f"variable {name}"
    yield from near(host.cwd, host)
    if host.app is not None:
        yield from near(host.app, host)
    yield from _registered(host)
    for source, folder in _kept(host):
        inside = python_in(folder, host)
        if inside is not None:
            yield inside, f"{source} {folder}"


def _on_path(host: Host) -> Iterator[Found]:
    """The Pythons of PATH, folder by folder, Store aliases included."""
    names = ("python", "python3") if host.windows else _POSIX_NAMES
    order = {folder: index for index, folder in enumerate(reversed(host.env.path_entries()))}
    found = [path for name in names for path in host.executables(name)]
    for path in sorted(found, key=lambda path: -order[path.parent]):
        yield path, "PATH"


def _activated(host: Host) -> Iterator[tuple[Literal["VIRTUAL_ENV", "CONDA_PREFIX"], Path]]:
    names: tuple[Literal["VIRTUAL_ENV", "CONDA_PREFIX"], ...] = ("VIRTUAL_ENV", "CONDA_PREFIX")
    for name in names:
        folder = host.env.folder(name)
        path = python_in(folder, host) if folder else None
        if path is not None:
            yield name, path


def _kept(host: Host) -> Iterator[tuple[str, Path]]:
    """The folders of managers' Pythons and environments; installers are in the registry."""
    env, pyenv = host.env, host.home / ".pyenv"
    parents = (
        ("pyenv", env.folder("PYENV_ROOT", "versions")),
        ("pyenv", env.folder("PYENV", "versions")),
        ("pyenv", pyenv / ("pyenv-win/versions" if host.windows else "versions")),
        *(("uv", folder) for folder in uv_folders(host)),
    )
    yield from ((source, f) for source, parent in parents if parent for f in _matching(parent))
    noted = read_text(host.home / ".conda" / "environments.txt") or ""  # conda's own list
    yield from (("conda", Path(line)) for line in noted.splitlines()[:_CHILDREN] if line)


def _matching(folder: Path) -> list[Path]:
    return [path for path in paths_in(folder, "*") if is_folder(path)][:_CHILDREN]


def find_interpreters(host: Host) -> tuple[Interpreter, ...]:
    """All Pythons in the order in which a user would meet them, each once.

    PATH comes first, then activated environments, the folders near the current one and below
    `host.app`, the registry (PEP 514), and what the usual managers keep. `source` says where a
    Python was met first. Scripts that start a Python, such as pyenv's shims, are left out: what
    they lead to is listed on its own.
    """
    found: dict[str, Interpreter] = {}
    for path, source in _places(host):
        key = _identity(path, host)
        if key not in found and (host.windows or not starts_with(path, b"#!")):
            found[key] = describe(path, source, host)
    return tuple(found.values())


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
        path = Path(choice.executable)
        if not is_store_alias(path) and not (avoided and path.is_relative_to(avoided)):
            return choice
    made = f"; {avoided} was made for tritonwin alone" if avoided else ""
    raise TargetError(f"no Python to examine was found{made}", NAME_IT)


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
    for path, _ in near(app.absolute(), host):
        return TargetChoice(str(path), "app", f"the Python of the application in {app}")
    raise TargetError(f"no Python in or beside {app}", NAME_IT)


def _candidates(host: Host, own: Path | None) -> Iterator[TargetChoice]:
    known = describe(own, "running", host) if own else None
    if known and known.kind == "embedded":
        yield TargetChoice(str(own), "running-embedded", "the embedded Python that runs tritonwin")
    elif own and host.env.get("TRITONWIN_BAT"):
        yield TargetChoice(str(own), "running", "the Python that tritonwin.bat found")
    for name, place in _activated(host):
        yield TargetChoice(str(place), name, f"the activated environment ({name})")
    for path, _ in near(host.cwd, host, here=True):
        planted = own is None or _identity(path, host) != _identity(own, host)
        where = "in" if path.is_relative_to(host.cwd) else "beside"
        yield TargetChoice(str(path), "near", f"{where} the current folder", planted)
    if known and known.packages:
        source = "the Python that runs tritonwin, with torch or Triton in it"
        yield TargetChoice(str(own), "running-with-packages", source)
    for path, _ in _on_path(host):
        yield TargetChoice(str(path), "first-on-path", "the first Python on PATH")
    if own:
        yield TargetChoice(str(own), "running", "the Python that runs tritonwin")

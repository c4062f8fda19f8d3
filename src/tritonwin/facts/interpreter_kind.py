"""Who made a Python or an environment, told from its place and from marker files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.model import PythonKind
from tritonwin.system.files import is_folder
from tritonwin.system.host import Host

STORE_ALIAS = "a Microsoft Store alias: starting it may open the Store, so it was not started"
_STORE_PACKAGE = re.compile(r"\\windowsapps\\pythonsoftwarefoundation\.python", re.IGNORECASE)
_UV_PYTHON = re.compile(r"\\uv\\(data\\)?python\\", re.IGNORECASE)
_PYENV = re.compile(r"\\\.?pyenv(-win)?\\(pyenv-win\\)?versions\\", re.IGNORECASE)
_DRIVE_ROOT = re.compile(r"[a-z]:\\python3\d+(-32)?\\", re.IGNORECASE)
_POETRY = re.compile(r"\\pypoetry\\(cache\\)?virtualenvs\\", re.IGNORECASE)
_SETTINGS_LIMIT = 65536  # bytes of a pyvenv.cfg that are read


@dataclass(frozen=True, kw_only=True)
class Pyvenv:
    """The `pyvenv.cfg` of a virtual environment."""

    folder: Path
    home: Path | None  # the folder of the base interpreter
    version: str | None
    uv: bool  # made by uv


def backslashes(path: str | Path) -> str:
    """The path with Windows' separators, so that one pattern serves both systems."""
    return str(path).replace("/", "\\")


def is_store_alias(path: str | Path) -> bool:
    """Whether the path is an app execution alias of the Store; such a file is never started.

    Aliases lie in `%LOCALAPPDATA%\\Microsoft\\WindowsApps`. They are empty reparse points, and
    nothing in them tells a Python from the stub that opens the Store.
    """
    return "\\microsoft\\windowsapps\\" in backslashes(path).lower()


def read_pyvenv(executable: Path) -> Pyvenv | None:
    """The `pyvenv.cfg` beside the executable or one folder up, where CPython looks for it."""
    for folder in (executable.parent, executable.parent.parent):
        try:
            with (folder / "pyvenv.cfg").open("rb") as file:
                text = file.read(_SETTINGS_LIMIT).decode("utf-8", "replace")
        except OSError:
            continue
        pairs = (line.partition("=") for line in text.splitlines())
        values = {name.strip().lower(): value.strip() for name, _, value in pairs}
        home = values.get("home")
        version = re.match(r"\d+\.\d+(\.\d+)?", values.get("version_info", "")) or re.match(
            r"\d+\.\d+(\.\d+)?", values.get("version", "")
        )
        return Pyvenv(
            folder=folder,
            home=Path(home) if home else None,
            version=version.group() if version else None,
            uv="uv" in values,
        )
    return None


def kind_of(
    executable: Path, prefix: Path, host: Host, *, venv: bool, embedded: bool
) -> PythonKind:
    """The kind of a Python, by marker files first and by its place second."""
    place = backslashes(executable)
    by_place: tuple[tuple[PythonKind, bool], ...] = (
        ("store", is_store_alias(executable) or bool(_STORE_PACKAGE.search(place))),
        ("poetry", venv and bool(_POETRY.search(place))),
        ("venv", venv),
        ("conda", is_folder(prefix / "conda-meta")),
        ("embedded", embedded),
        ("uv", bool(_UV_PYTHON.search(place)) or _below(executable, uv_folders(host))),
        ("pyenv", bool(_PYENV.search(place))),
        (
            "system",
            _below(executable, _system_folders(host)) or bool(_DRIVE_ROOT.match(place)),
        ),
        ("user", _below(executable, (host.home, *_user_folders(host)))),
    )
    return next((kind for kind, holds in by_place if holds), "unknown")


def managers_of(
    kind: PythonKind, prefix: Path, base_prefix: Path, pyvenv: Pyvenv | None, *, base_embedded: bool
) -> tuple[str, ...]:
    """The environment managers whose files meet in one environment.

    More than one is a mixture: conda and a virtual environment, a virtual environment on an
    embedded Python. What only provides an interpreter to build on (uv, pyenv) does not count.
    """
    found: list[str] = []
    if pyvenv is not None:
        found.append("poetry" if kind == "poetry" else "uv" if pyvenv.uv else "venv")
    elif kind in ("uv", "pyenv", "embedded"):
        found.append(kind)
    if any(is_folder(folder / "conda-meta") for folder in (prefix, base_prefix)):
        found.append("conda")
    if pyvenv is not None and base_embedded:
        found.append("embedded")
    return tuple(dict.fromkeys(found))


def uv_folders(host: Host) -> tuple[Path, ...]:
    """Where uv keeps the Pythons that it installs."""
    named = host.env.folder("UV_PYTHON_INSTALL_DIR")
    roaming = host.env.folder("APPDATA")
    data = host.env.folder("XDG_DATA_HOME") or host.home / ".local" / "share"
    places = (
        named,
        roaming / "uv" / "python" if roaming else None,
        roaming / "uv" / "data" / "python" if roaming else None,
        None if host.windows else data / "uv" / "python",
    )
    return tuple(place for place in places if place is not None)


def _system_folders(host: Host) -> tuple[Path, ...]:
    if not host.windows:
        return tuple(Path(name) for name in ("/usr", "/bin", "/opt"))
    return host.program_files()


def _user_folders(host: Host) -> tuple[Path, ...]:
    folder = host.env.folder("LOCALAPPDATA")
    return (folder,) if folder else ()


def _below(path: Path, folders: Iterable[Path]) -> bool:
    text = backslashes(path).lower()
    return any(
        text.startswith(backslashes(folder).lower().rstrip("\\") + "\\") for folder in folders
    )

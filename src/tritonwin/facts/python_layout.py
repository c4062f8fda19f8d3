"""A Python as its files describe it, without starting it: kind, version, site-packages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.records import Interpreter, PthFile, PythonKind
from tritonwin.system.access import can_write
from tritonwin.system.files import (
    as_text,
    is_file,
    is_folder,
    names_in,
    paths_in,
    read_bytes,
    read_text,
)
from tritonwin.system.host import Host

STORE_ALIAS = "a Microsoft Store alias: starting it may open the Store, so it was not started"
_STORE_PACKAGE = re.compile(r"\\windowsapps\\pythonsoftwarefoundation\.python", re.IGNORECASE)
_UV_PYTHON = re.compile(r"\\uv\\(data\\)?python\\", re.IGNORECASE)
_PYENV = re.compile(r"\\\.?pyenv(-win)?\\(pyenv-win\\)?versions\\", re.IGNORECASE)


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
    """True for an app execution alias of the Store; such a file is never started.

    Aliases lie in `%LOCALAPPDATA%\\Microsoft\\WindowsApps`. They are empty reparse points, and
    nothing in them tells a Python from the stub that opens the Store.
    """
    return "\\microsoft\\windowsapps\\" in backslashes(path).lower()


def read_pyvenv(executable: Path) -> Pyvenv | None:
    """The `pyvenv.cfg` beside the executable or one folder up, where CPython looks for it."""
    for folder in (executable.parent, executable.parent.parent):
        content = read_bytes(folder / "pyvenv.cfg")
        if content is not None:
            lines = content.decode("utf-8", "replace").splitlines()
            pairs = (line.partition("=") for line in lines)
            values = {name.strip().lower(): value.strip() for name, _, value in pairs}
            told = (values.get(name, "") for name in ("version_info", "version"))
            versions = (re.match(r"\d+\.\d+(\.\d+)?", text) for text in told)
            home = values.get("home")
            return Pyvenv(
                folder=folder,
                home=Path(home) if home else None,
                version=next((v.group() for v in versions if v), None),
                uv="uv" in values,
            )
    return None


def kind_of(
    executable: Path, prefix: Path, host: Host, *, venv: bool, embedded: bool
) -> PythonKind:
    """The kind of a Python, by marker files first and by its place second."""
    place = backslashes(executable)
    system = host.program_files() if host.windows else map(Path, ("/usr", "/bin", "/opt"))
    by_place: tuple[tuple[PythonKind, bool], ...] = (
        ("store", is_store_alias(executable) or bool(_STORE_PACKAGE.search(place))),
        ("venv", venv),
        ("conda", is_folder(prefix / "conda-meta")),
        ("embedded", embedded),
        ("uv", bool(_UV_PYTHON.search(place)) or _below(executable, *uv_folders(host))),
        ("pyenv", bool(_PYENV.search(place))),
        ("system", _below(executable, *system)),
        ("user", _below(executable, host.home, host.env.folder("LOCALAPPDATA"))),
    )
    return next((kind for kind, holds in by_place if holds), "unknown")


def _managers(
    kind: PythonKind, prefix: Path, base: Path, pyvenv: Pyvenv | None
) -> tuple[PythonKind, ...]:
    """The environment managers whose files meet in one environment.

    More than one is a mixture: conda and a virtual environment, a virtual environment on an
    embedded Python. What only provides an interpreter to build on (uv, pyenv) does not count.
    """
    found: list[PythonKind] = []
    if pyvenv is not None:
        found.append("uv" if pyvenv.uv else "venv")
    elif kind in ("uv", "pyenv", "embedded"):
        found.append(kind)
    if any(is_folder(folder / "conda-meta") for folder in (prefix, base)):
        found.append("conda")
    if pyvenv is not None and paths_in(base, "python*._pth"):
        found.append("embedded")
    return tuple(found)


def uv_folders(host: Host) -> tuple[Path, ...]:
    """The folders in which uv keeps the Pythons that it installs."""
    data = host.env.folder("XDG_DATA_HOME") or host.home / ".local" / "share"
    places = (
        host.env.folder("UV_PYTHON_INSTALL_DIR"),
        host.env.folder("APPDATA", "uv/python"),
        host.env.folder("APPDATA", "uv/data/python"),
        None if host.windows else data / "uv" / "python",
    )
    return tuple(place for place in places if place is not None)


def _below(path: Path, *folders: Path | None) -> bool:
    text = backslashes(path).lower()
    return any(
        text.startswith(backslashes(folder).lower().rstrip("\\") + "\\")
        for folder in folders
        if folder is not None
    )


# The distributions whose versions tell one Python of a machine from another at a glance.
PACKAGES = frozenset({"torch", "triton", "triton-windows"})

_DLL = re.compile(r"python3(\d+)(t?)\.dll", re.IGNORECASE)
_DIST_INFO = re.compile(r"([A-Za-z0-9._]+)-([^-]+)\.dist-info")


def describe(executable: Path, source: str, host: Host) -> Interpreter:
    """An interpreter as the files around it describe it."""
    if is_store_alias(executable):
        return Interpreter(
            executable=str(executable), source=source, kind="store", error=STORE_ALIAS
        )
    pyvenv = read_pyvenv(executable)
    real = executable if host.windows else Path(os.path.realpath(executable))
    prefix = pyvenv.folder if pyvenv else real.parent if host.windows else real.parent.parent
    home = pyvenv.home if pyvenv else None
    base = prefix if home is None else home if host.windows else home.parent
    pth = read_pth(executable) if host.windows else None
    dll = _python_dll(executable, base) if host.windows else None
    name = re.search(r"python(3\.\d+)", str(real))
    found = _dll_version(dll) if host.windows else name[1] if name else None
    found = (pyvenv.version if pyvenv else None) or found
    kind = kind_of(executable, prefix, host, venv=pyvenv is not None, embedded=pth is not None)
    image = read_pe(executable) if host.windows else None
    sites = tuple(_site_packages(prefix, found, pth, host))
    return Interpreter(
        executable=str(executable),
        source=source,
        kind=kind,
        version=found,
        bits=image.bits if image else None,
        machine=image.machine if image else None,
        free_threaded=None if dll is None else dll.stem.lower().endswith("t"),
        prefix=str(prefix),
        base_prefix=str(base),
        base_executable=as_text(_base_executable(pyvenv, executable, host)),
        pth=pth,
        site_packages=tuple(str(folder) for folder in sites),
        writable=can_write(sites[0]) if sites else None,
        managers=_managers(kind, prefix, base, pyvenv),
        packages=_packages(sites),
        has_pip=any(is_folder(folder / "pip") for folder in sites) if sites else None,
    )


def python_in(folder: Path, host: Host) -> Path | None:
    """The interpreter of an installation or environment folder, if there is one."""
    windows = ("python.exe", "Scripts/python.exe")
    names = windows if host.windows else ("bin/python", "bin/python3")
    return next((path for name in names if is_file(path := folder / name)), None)


def read_pth(executable: Path) -> PthFile | None:
    """The `._pth` file that CPython obeys: named after its DLL or after the executable."""
    for path in paths_in(executable.parent, "*._pth"):
        if not re.fullmatch(r"python\d*t?", path.stem) and path.stem != executable.stem:
            continue
        lines = [line.split("#", 1)[0].strip() for line in (read_text(path) or "").splitlines()]
        return PthFile(
            path=str(path),
            entries=tuple(line for line in lines if line and line != "import site"),
            import_site="import site" in lines,
        )
    return None


def _base_executable(pyvenv: Pyvenv | None, executable: Path, host: Host) -> Path | None:
    if pyvenv is None:
        return executable
    if pyvenv.home is None:
        return None
    names = ("python.exe",) if host.windows else (executable.name, "python3", "python")
    return next((path for name in names if is_file(path := pyvenv.home / name)), None)


def _python_dll(executable: Path, base: Path) -> Path | None:
    """The DLL that holds Python: pythonXY.dll, or pythonXYt.dll for a name such as python3.13t."""
    free_threaded = executable.stem.lower().endswith("t")
    found = [path for path in paths_in(base, "python3*.dll") if _DLL.fullmatch(path.name)]
    matching = [path for path in found if path.stem.lower().endswith("t") == free_threaded]
    return next(iter(matching or found), None)


def _dll_version(dll: Path | None) -> str | None:
    if dll is None:
        return None
    image = read_pe(dll, version=True)
    words = re.match(r"\d+\.\d+\.\d+", (image.file_version or "") if image else "")
    if words:
        return words.group()
    minor = _DLL.fullmatch(dll.name)
    return f"3.{minor[1]}" if minor else None


def _site_packages(
    prefix: Path, version: str | None, pth: PthFile | None, host: Host
) -> Iterator[Path]:
    if host.windows:
        folders = [prefix / "Lib" / "site-packages"]
        if pth is not None:
            entries = [prefix / entry.replace("\\", "/") for entry in pth.entries]
            folders += [entry for entry in entries if entry.name.lower() == "site-packages"]
        yield from dict.fromkeys(folders)
        return
    minor = ".".join(version.split(".")[:2]) if version else "3.*"
    for pattern in (
        f"lib*/python{minor}/site-packages",
        f"local/lib/python{minor}/dist-packages",
        "lib/python3/dist-packages",
    ):
        # lib64 is a link to lib in many a virtual environment
        yield from {
            os.path.realpath(path): path for path in paths_in(prefix, pattern)[::-1]
        }.values()


def _packages(folders: tuple[Path, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in (_DIST_INFO.fullmatch(n) for folder in folders for n in names_in(folder)):
        if match and (name := canonicalize_name(match[1])) in PACKAGES:
            found.setdefault(name, match[2])
    return found

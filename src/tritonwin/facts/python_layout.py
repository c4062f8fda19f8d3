"""Read a Python from its files: version, word size, base, packages. Nothing is started."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.interpreter_kind import (
    STORE_ALIAS,
    Pyvenv,
    is_store_alias,
    kind_of,
    managers_of,
    read_pyvenv,
)
from tritonwin.facts.model import Interpreter, PthFile, PythonKind
from tritonwin.system.access import can_write
from tritonwin.system.files import is_file, is_folder, paths_in, read_text
from tritonwin.system.host import Host

# The distributions whose versions tell one Python of a machine from another at a glance.
PACKAGES = frozenset({"torch", "triton", "triton-windows"})

_DLL = re.compile(r"python3(\d+)(t?)\.dll", re.IGNORECASE)
_DIST_INFO = re.compile(r"([A-Za-z0-9._]+)-([^-]+)\.dist-info")
_ELF_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64"}


def describe(
    executable: Path,
    source: str,
    host: Host,
    *,
    version: str | None = None,
    kind: PythonKind | None = None,
) -> Interpreter:
    """What the files around an executable say of it.

    `version` and `kind` are what the registry says; they serve where the files say nothing.
    """
    if is_store_alias(executable):
        return Interpreter(
            executable=str(executable), source=source, kind="store", error=STORE_ALIAS
        )
    pyvenv = read_pyvenv(executable)
    prefix = pyvenv.folder if pyvenv else _prefix(executable, host)
    base = _base_prefix(pyvenv, prefix, host)
    pth = read_pth(executable) if host.windows else None
    dll = _python_dll(executable, base) if host.windows else None
    found = _dll_version(dll) if host.windows else _posix_version(executable, base)
    found = (pyvenv.version if pyvenv else None) or found or version
    seen = kind_of(executable, prefix, host, venv=pyvenv is not None, embedded=pth is not None)
    word = _word(executable, host)
    sites = tuple(_site_packages(prefix, found, pth, host))
    return Interpreter(
        executable=str(executable),
        source=source,
        kind=kind if kind and seen in ("unknown", "system", "user") else seen,
        version=found,
        bits=word[0] if word else None,
        machine=word[1] if word else None,
        free_threaded=_free_threaded(executable, dll, found, base, host),
        prefix=str(prefix),
        base_prefix=str(base),
        base_executable=_text(_base_executable(pyvenv, executable, host)),
        pth=pth,
        site_packages=tuple(str(folder) for folder in sites),
        writable=can_write(sites[0]) if sites else None,
        managers=managers_of(
            seen,
            prefix,
            base,
            pyvenv,
            base_embedded=host.windows and bool(paths_in(base, "python*._pth")),
        ),
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


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _prefix(executable: Path, host: Host) -> Path:
    if host.windows:
        return executable.parent
    return Path(os.path.realpath(executable)).parent.parent


def _base_prefix(pyvenv: Pyvenv | None, prefix: Path, host: Host) -> Path:
    if pyvenv is None or pyvenv.home is None:
        return prefix
    return pyvenv.home if host.windows else pyvenv.home.parent


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


def _posix_version(executable: Path, base: Path) -> str | None:
    name = re.search(r"python(3\.\d+)", os.path.realpath(executable))
    folders = [f"include/python{name[1]}*"] if name else ["include/python3.*"]
    for header in (path for pattern in folders for path in paths_in(base, pattern)):
        text = read_text(header / "patchlevel.h") or ""
        exact = re.search(r'#define\s+PY_VERSION\s+"(\d+\.\d+\.\d+)', text)
        if exact:
            return exact[1]
    return name[1] if name else None


def _free_threaded(
    executable: Path, dll: Path | None, version: str | None, base: Path, host: Host
) -> bool | None:
    if host.windows:
        return None if dll is None else dll.stem.lower().endswith("t")
    if version is None:
        return None
    minor = ".".join(version.split(".")[:2])
    name = Path(os.path.realpath(executable)).name
    alone = not is_folder(base / "lib" / f"python{minor}")
    return name.endswith("t") or (is_folder(base / "lib" / f"python{minor}t") and alone)


def _word(executable: Path, host: Host) -> tuple[int, str] | None:
    """Word size and machine of the program, from its header."""
    if host.windows:
        image = read_pe(executable)
        return (image.bits, image.machine) if image else None
    try:
        with executable.open("rb") as file:
            head = file.read(20)
    except OSError:
        return None
    if len(head) < 20 or not head.startswith(b"\x7fELF"):
        return None
    machine = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    return (64 if head[4] == 2 else 32), _ELF_MACHINES.get(machine, f"ELF machine {machine}")


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
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                match = _DIST_INFO.fullmatch(entry.name)
                name = canonicalize_name(match[1]) if match else ""
                if match and name in PACKAGES:
                    found.setdefault(name, match[2])
    return found

"""Compiled modules of the target whose loading matters, and the VC runtime that it gets."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from tritonwin.facts.dlls.loading import DllSearch
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.packages import knowledge, search_path
from tritonwin.facts.records import ExtensionFile, Interpreter, RuntimeDll, Torch
from tritonwin.system.files import is_file, is_folder, names_in
from tritonwin.system.host import Host

_SUFFIXES = {".pyd", ".dll", ".so"}


def read_extensions(
    target: Interpreter, torch: Torch | None, search: DllSearch
) -> tuple[ExtensionFile, ...]:
    """The modules named in `packages.toml` that lie in the target, with what they import.

    Files are looked for by name, not through a distribution, since a half-removed package is
    one of the reasons why loading fails.
    """
    listing = cache(names_in)  # one listing of a folder serves all patterns
    cuda = (torch.cuda or "").replace(".", "") if torch else ""
    found = (
        (path, package)
        for package, patterns in knowledge().extensions.items()
        for path in _find(search_path(target), patterns, cuda, listing)
    )
    images = ((path, package, read_pe(path)) for path, package in found)
    return tuple(
        ExtensionFile(
            path=str(path),
            package=package,
            unresolved=search.unresolved(image.imports, path.parent) if image else (),
        )
        for path, package, image in images
    )


def _find(
    folders: Iterable[Path],
    patterns: Iterable[str],
    cuda: str,
    listing: Callable[[Path], tuple[str, ...]],
) -> Iterator[Path]:
    for pattern in patterns:
        if "{cuda}" in pattern and not cuda:
            continue
        below, _, name = pattern.format(cuda=cuda).rpartition("/")
        for folder in folders:
            place = folder / below
            found = [place / n for n in fnmatch.filter(listing(place), name)]
            modules = [p for p in found if p.suffix in _SUFFIXES and is_file(p)]
            yield from modules
            if modules:
                break  # Python takes the first on its path


# libtriton, torch and flash-attn import these; vcomp140 is OpenMP, used by what cl compiles.
NAMES = (
    "msvcp140.dll",
    "msvcp140_1.dll",
    "vcruntime140.dll",
    "vcruntime140_1.dll",
    "vcruntime140_threads.dll",
    "vcomp140.dll",
)

Place = Literal["beside-python", "base-python", "system32", "package", "conda"]


def read_runtime_dlls(target: Interpreter, host: Host) -> tuple[RuntimeDll, ...]:
    """Every copy of the runtime DLLs in the places where Windows looks, in that order.

    Windows looks in the folder of the running program first and in System32 last ("Dynamic-link
    library search order", Microsoft Learn); conda's Python adds `Library\\bin` between the two.
    The program of a virtual environment is the base interpreter, which its `python.exe` starts:
    a DLL in `Scripts` is listed, but never the one that is loaded. Empty on other systems.
    """
    if not host.windows:
        return ()
    return tuple(dll for name in NAMES for dll in _copies(name, target, host))


def _copies(name: str, target: Interpreter, host: Host) -> Iterator[RuntimeDll]:
    taken = False
    for place, folder, searched in _places(target, host):
        path = folder / name
        if not is_file(path):
            continue
        image = read_pe(path, version=True)
        loads = searched and not taken
        taken = taken or loads
        yield RuntimeDll(
            name=name,
            path=str(path),
            place=place,
            version=image.file_version if image else None,
            loaded=loads,
        )


def _places(target: Interpreter, host: Host) -> Iterator[tuple[Place, Path, bool]]:
    """Place, folder, and whether Windows looks there when the target runs."""
    own = Path(target.executable).parent
    base = Path(target.base_executable).parent if target.base_executable else own
    yield "beside-python", own, own == base
    if own != base:
        yield "base-python", base, True
    library = base / "Library" / "bin"
    if is_folder(base / "conda-meta"):
        yield "conda", library, True
    system32 = host.system32()
    if system32 is not None:
        yield "system32", system32, True

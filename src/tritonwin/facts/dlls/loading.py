"""The loader of a file: the Python around it, or a start of its own; compiled modules of a target.

Everything is read from files.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.dlls.pe import is_api_set, read_pe
from tritonwin.facts.dlls.tree import (
    SYSTEM_DLLS,
    DllTree,
    Walk,
    module_places,
    program_places,
)
from tritonwin.facts.packages import knowledge, search_path
from tritonwin.facts.python_layout import describe, python_in
from tritonwin.facts.records import ExtensionFile, Interpreter, RuntimeDll, RuntimePlace, Torch
from tritonwin.facts.torch_triton import read_torch
from tritonwin.system.files import is_file, is_folder, names_in
from tritonwin.system.host import Environment, Host
from tritonwin.system.registry import Registry


@dataclass(frozen=True)
class DllSearch:
    """The DLLs that any module of the target finds, wherever the module itself lies.

    `names` are file names in lower case. None: the machine is not Windows, so nothing can be said.
    """

    names: frozenset[str] | None

    def unresolved(self, imports: Iterable[str], folder: Path) -> tuple[str, ...]:
        """Those of a module's imports that a module which lies in `folder` would not find."""
        if self.names is None:
            return ()
        there = self.names.union(name.lower() for name in names_in(folder))
        return tuple(dll for dll in imports if not is_api_set(dll) and dll.lower() not in there)


def dll_search(target: Interpreter, torch: Torch | None, host: Host) -> DllSearch:
    """List the folders that count for every module: see `dll_places`."""
    if not host.windows:
        return DllSearch(None)
    places = module_places(target, torch, host)
    names = {name.lower() for folder in places for name in names_in(folder)}
    return DllSearch(SYSTEM_DLLS | names)


def dll_tree(file: Path, host: Host, python: Path | None = None) -> DllTree:
    """The tree of a file as the Python `python`, or else the one around the file, loads it.

    Off Windows nothing is known of the machine but what lies around the file.

    Raises:
        UserError: the file is not there, or is not a program file of Windows.
    """
    # a link stays one: Windows looks in the folder that was named
    file = Path(os.path.abspath(file))  # noqa: PTH100
    if not is_file(file):
        raise UserError(f"{file} is not a file", "Name a .pyd, .dll or .exe: tritonwin dlls FILE")
    if read_pe(file) is None:
        raise UserError(
            f"{file} is not a program file of Windows, or it is damaged",
            "Reinstall the package that it belongs to, or name another file.",
        )
    if not host.windows:
        host = replace(host, env=Environment({}, windows=True), registry=Registry(), windows=True)
    started = file.suffix.lower() == ".exe" and python is None
    target = None if started else _target(file, python, host)
    if target is None:
        program = file if started else None
        return Walk(program_places(file, host), program).tree(file, "program" if started else "dll")
    return module_tree(file, target, read_torch(target, read_distributions(target)), host)


def module_tree(file: Path, target: Interpreter, torch: Torch | None, host: Host) -> DllTree:
    """The tree of a compiled module of a target that is known already."""
    program = Path(target.base_executable or target.executable)
    started = program if is_file(program) else None
    named = target.executable if started else None
    return Walk(module_places(target, torch, host), started).tree(file, "python", named)


def _target(file: Path, python: Path | None, host: Host) -> Interpreter | None:
    if python is not None:
        executable = python_in(python, host) if is_folder(python) else python
        if executable is None or not is_file(executable):
            raise UserError(f"{python} is no Python", "Name python.exe, or the folder it is in.")
        return describe(executable.absolute(), "--python", host)
    around = next((p for f in file.parents if (p := python_in(f, host))), None)
    if around is not None:
        return describe(around, "around the file", host)
    site = next((f for f in file.parents if f.name.lower() == "site-packages"), None)
    if site is None:
        return None
    # packages without a Python: nothing lies beside its program
    nowhere = str(site / "no python" / "python.exe")
    return Interpreter(
        executable=nowhere, source="none", kind="unknown", site_packages=(str(site),)
    )


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


def read_runtime_dlls(target: Interpreter, host: Host) -> tuple[RuntimeDll, ...]:
    """Every copy of the runtime DLLs in the places where Windows looks, in that order.

    Windows looks in the folder of the running program first and in System32 last ("Dynamic-link
    library search order", Microsoft Learn); conda's Python adds `Library\\bin` between the two.
    The program of a virtual environment is the base interpreter, which its `python.exe` starts:
    a DLL in `Scripts` is listed, but never the one that is loaded. Empty on other systems.
    """
    if not host.windows:
        return ()
    found: list[RuntimeDll] = []
    places = tuple(_places(target, host))
    for name in NAMES:
        copies = [(p, f / name, searched) for p, f, searched in places if is_file(f / name)]
        loaded = next((path for _, path, searched in copies if searched), None)
        for place, path, _ in copies:
            image = read_pe(path, version=True)
            found.append(
                RuntimeDll(
                    name=name,
                    path=str(path),
                    place=place,
                    version=image.file_version if image else None,
                    loaded=path == loaded,
                )
            )
    return tuple(found)


def _places(target: Interpreter, host: Host) -> Iterator[tuple[RuntimePlace, Path, bool]]:
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

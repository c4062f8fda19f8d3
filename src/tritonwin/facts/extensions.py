"""Compiled modules of attention and quantisation packages, and the DLLs that they lack."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.dlls.search import DllSearch
from tritonwin.facts.model import ExtensionFile, Interpreter, Torch
from tritonwin.facts.packages import knowledge, search_path
from tritonwin.system.files import is_file, names_in

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
    return tuple(
        _read(path, package, search)
        for package, patterns in knowledge().extensions.items()
        for path in _find(search_path(target), patterns, cuda, listing)
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


def _read(path: Path, package: str, search: DllSearch) -> ExtensionFile:
    image = read_pe(path)
    windows = path.suffix != ".so"
    return ExtensionFile(
        path=str(path),
        package=package,
        imports=image.imports if image else (),
        unresolved=search.unresolved(image.imports, path.parent) if image else (),
        error="not a readable Windows module" if windows and image is None else None,
    )

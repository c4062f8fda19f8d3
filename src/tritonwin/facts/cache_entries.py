"""The entries of Triton's caches: what each was compiled from, by what, and for what.

An entry is a folder named by a hash. The format is that of Triton's `runtime/cache.py` and
`compiler/compiler.py` (3.0 to 3.8): a kernel's `NAME.json` holds its target and, since 3.2, the
version of Triton; a helper is a compiled module; `tmp.pid_*` is what a write began with.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tritonwin.facts.caches import MODULE_SUFFIXES, helper_module
from tritonwin.facts.dlls.search import DllSearch
from tritonwin.facts.model import Cache, HelperModule, Interpreter
from tritonwin.system.codec import Json, parse
from tritonwin.system.files import file_size, is_folder, names_in, read_text

_BINARIES = (".cubin", ".hsaco", ".ptx", ".spv", ".zebin")
_UNFINISHED = "tmp.pid_"


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """One folder of a cache."""

    path: str
    cache: Literal["triton", "inductor"]
    kind: Literal["kernel", "helper", "unfinished", "other"]
    name: str = ""  # of the kernel or the module
    size_bytes: int = 0
    idle_seconds: int = 0  # since something in it was written
    triton_version: str | None = None
    backend: str | None = None  # "cuda"
    arch: str | None = None  # "89", "gfx1100"
    helper: HelperModule | None = None
    damage: str | None = None


def read_entries(
    caches: tuple[Cache, ...], target: Interpreter, search: DllSearch
) -> tuple[CacheEntry, ...]:
    """The entries of the caches, in the order of their names. Nothing here raises."""
    return tuple(
        _read(folder, cache.kind, target, search)
        for cache in caches
        for folder in _folders(Path(cache.path), cache.kind)
    )


def _folders(root: Path, kind: str) -> Iterator[Path]:
    # below inductor's folder each device has a Triton cache of its own: triton/0/HASH
    parents = [root]
    if kind == "inductor":
        parents = [root / "triton" / device for device in names_in(root / "triton")]
    for parent in parents:
        yield from (p for name in names_in(parent) if is_folder(p := parent / name))


def _read(
    folder: Path, cache: Literal["triton", "inductor"], target: Interpreter, search: DllSearch
) -> CacheEntry:
    names = names_in(folder)
    size, newest = _measure(folder)
    idle = max(0, int(time.time() - newest)) if newest else 0
    entry = CacheEntry(
        path=str(folder), cache=cache, kind="other", size_bytes=size, idle_seconds=idle
    )
    module = next((n for n in names if n.endswith(MODULE_SUFFIXES)), None)
    if module is not None:
        helper = helper_module(folder / module, target, search)
        return replace(entry, kind="helper", name=module.partition(".")[0], helper=helper)
    for name in names:
        if name.endswith(".json") and not name.startswith("__grp__"):
            return _kernel(entry, name, names)
    unfinished = all(name.startswith(_UNFINISHED) for name in names)
    return replace(entry, kind="unfinished") if unfinished else entry


def _kernel(entry: CacheEntry, described: str, names: tuple[str, ...]) -> CacheEntry:
    folder = Path(entry.path)
    entry = replace(entry, kind="kernel", name=described.removesuffix(".json"))
    tree: Json = None
    with contextlib.suppress(ValueError):
        tree = parse(read_text(folder / described) or "")
    if not isinstance(tree, dict):
        return replace(entry, damage=f"{described} cannot be read")
    target = tree.get("target")
    found = target if isinstance(target, dict) else {}
    binaries = (name for name in names if name.endswith(_BINARIES))
    empty = next((name for name in binaries if not file_size(folder / name)), None)
    return replace(
        entry,
        triton_version=_text(tree.get("triton_version")),
        backend=_text(found.get("backend")),
        arch=_text(found.get("arch")),
        damage=f"{empty} is empty" if empty else None,
    )


def _text(value: Json) -> str | None:
    return str(value) if isinstance(value, (str, int)) else None


def _measure(folder: Path) -> tuple[int, float]:
    """Bytes in the folder, and when something in it was written last."""
    size, newest = 0, 0.0
    for place, _, files in os.walk(folder):
        for path in (Path(place), *(Path(place, name) for name in files)):
            with contextlib.suppress(OSError):
                status = path.stat()
                newest = max(newest, status.st_mtime)
                size += 0 if path == Path(place) else status.st_size
    return size, newest

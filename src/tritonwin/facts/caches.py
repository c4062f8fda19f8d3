"""The caches of Triton and TorchInductor: their size and state, and their entries.

An entry is a folder named by a hash. The format is that of Triton's `runtime/cache.py` and
`compiler/compiler.py` (3.0 to 3.8): a kernel's `NAME.json` holds its target and, since 3.2, the
version of Triton; a helper is a compiled module; `tmp.pid_*` is what a write began with.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tritonwin.facts.dlls.loading import DllSearch
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.records import Cache, CacheKind, HelperModule, Interpreter
from tritonwin.facts.system import temp_folder
from tritonwin.system.access import can_write, write_obstacle
from tritonwin.system.codec import Json, parse
from tritonwin.system.files import (
    ask,
    file_size,
    is_folder,
    names_in,
    paths_in,
    read_text,
    starts_with,
)
from tritonwin.system.host import Host

WALK_SECONDS = 1.0
WALK_FILES = 50_000
HELPERS = 50  # the first ones: a stale cache shows in any of them

_PYTHON_DLL = re.compile(r"python3\d*t?(?:_d)?\.dll", re.IGNORECASE)
MODULE_SUFFIXES = (".pyd", ".so")


def read_caches(target: Interpreter, host: Host, search: DllSearch) -> tuple[Cache, ...]:
    """Triton's cache and inductor's, with the rules by which those programs choose the folder.

    Whether a folder can be written to is told by `system/access.py`, which writes nothing.
    """
    kinds: tuple[tuple[CacheKind, tuple[Path, str]], ...] = (
        ("triton", triton_cache(host)),
        ("inductor", inductor_cache(host)),
    )
    return tuple(
        Cache(
            kind=kind,
            path=str(path),
            source=source,
            exists=is_folder(path),
            writable=can_write(path),
            entries=walk.files,
            size_bytes=walk.size,
            longest_path=walk.longest,
            complete=walk.complete,
            helpers=tuple(helper_module(module, target, search) for module in walk.modules),
            error=write_obstacle(path),
        )
        for kind, (path, source) in kinds
        for walk in [_walk(path)]
    )


def triton_cache(host: Host) -> tuple[Path, str]:
    """Folder and source, as Triton's `knobs.py` (before 3.4: `runtime/cache.py`) decides it."""
    env, usual = host.env, ".triton/cache"
    for folder, name in (
        (env.folder("TRITON_CACHE_DIR"), "TRITON_CACHE_DIR"),
        (env.folder("TRITON_HOME", usual), "TRITON_HOME"),
    ):
        if folder:
            return folder, f"variable {name}"
    return host.home / usual, "default"


def inductor_cache(host: Host) -> tuple[Path, str]:
    """Folder and source, as torch's `_inductor/runtime/cache_dir_utils.py` decides it."""
    folder = host.env.folder("TORCHINDUCTOR_CACHE_DIR")
    if folder:
        return folder, "variable TORCHINDUCTOR_CACHE_DIR"
    user = next((u for n in ("LOGNAME", "USER", "LNAME", "USERNAME") if (u := host.env.get(n))), "")
    safe = re.sub(r'[\\/:*?"<>|]', "_", user)
    temp = temp_folder(host)[0] or str(host.home / "AppData" / "Local" / "Temp")
    return Path(temp.strip(' "'), f"torchinductor_{safe}"), "default"


@dataclass
class _Walk:
    """The files below a folder; `newest`: when one was written last."""

    files: int = 0
    size: int = 0
    longest: int = 0
    newest: float = 0
    complete: bool = True
    modules: list[Path] = field(default_factory=list)


def _walk(folder: Path) -> _Walk:
    walk = _Walk(newest=ask(lambda asked: asked.stat().st_mtime, folder, 0.0))
    deadline = time.monotonic() + WALK_SECONDS
    for entry in _files(folder):
        if walk.files >= WALK_FILES or time.monotonic() > deadline:
            walk.complete = False
            break
        walk.files += 1
        walk.longest = max(walk.longest, len(entry.path))
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            walk.size += status.st_size
            walk.newest = max(walk.newest, status.st_mtime)
        if entry.name.endswith(MODULE_SUFFIXES) and len(walk.modules) < HELPERS:
            walk.modules.append(Path(entry.path))
    return walk


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Every file below the folder. Links to folders are not followed."""
    waiting = [str(folder)] if is_folder(folder) else []
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry


def helper_module(path: Path, target: Interpreter, search: DllSearch) -> HelperModule:
    """A compiled module in a cache: the Python it was built for, and if the target loads it."""
    image = read_pe(path)
    python = (name for name in image.imports if _PYTHON_DLL.fullmatch(name)) if image else iter(())
    return HelperModule(
        path=str(path),
        valid=image is not None if path.suffix == ".pyd" else starts_with(path, b"\x7fELF"),
        python_dll=next(python, None),
        usable=_usable(path.name, target),
        unresolved=search.unresolved(image.imports, path.parent) if image else (),
    )


def _usable(name: str, target: Interpreter) -> bool:
    """True if the target would load a module of that file name: its own tag, or none."""
    if target.ext_suffix and name.endswith(target.ext_suffix):
        return True
    stem, _, kind = name.partition(".")
    return bool(stem) and kind == (target.ext_suffix or name).rpartition(".")[2]


_BINARIES = (".cubin", ".hsaco", ".ptx", ".spv", ".zebin")
_UNFINISHED = "tmp.pid_"


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """One folder of a cache."""

    path: str
    cache: CacheKind
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
    roots = [(Path(cache.path), cache.kind) for cache in caches]
    parents = [
        (parent, kind)
        for root, kind in roots
        # below inductor's folder each device has a Triton cache of its own: triton/0/HASH
        for parent in (paths_in(root / "triton", "*") if kind == "inductor" else (root,))
    ]
    folders = ((path, kind) for parent, kind in parents for path in paths_in(parent, "*"))
    return tuple(_entry(path, kind, target, search) for path, kind in folders if is_folder(path))


def _entry(folder: Path, cache: CacheKind, target: Interpreter, search: DllSearch) -> CacheEntry:
    names = names_in(folder)
    walk = _walk(folder)
    idle = max(0, int(time.time() - walk.newest)) if walk.newest else 0
    entry = CacheEntry(
        path=str(folder), cache=cache, kind="other", size_bytes=walk.size, idle_seconds=idle
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

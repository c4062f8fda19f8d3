"""Cache entries: which are stale, what has the form of one, and taking them away.

A variable may name any folder as a cache, also one with documents in it. So only what is named
and laid out as Triton (`runtime/cache.py`) and torch (`_inductor/codecache.py`) do is touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tritonwin.facts.caches import read_entries
from tritonwin.facts.dlls.loading import dll_search
from tritonwin.facts.records import Cache, Facts
from tritonwin.problems.cache_state import JudgedEntry, judge
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import (
    CannotRemedyError,
    ChangedSincePlanError,
    ClearCache,
    Plan,
    target_to_change,
)
from tritonwin.remedies.records import Clearing
from tritonwin.system.files import is_folder, names_in
from tritonwin.system.host import Host

# SHA-256 in base32, in older Tritons in hexadecimal
_HASH = re.compile(r"[A-Z2-7]{52}|[0-9a-f]{64}")
_IN_ENTRY = re.compile(
    r"tmp\.pid_.*|.*\.(json|source|ttir|ttgir|llir|ptx|cubin|hsaco|amdgcn|asm|spv|zebin|so|pyd)",
    re.IGNORECASE,
)
_TORCH_KEY = re.compile(r"[a-z][a-z2-7]{20,}(\.[\w.]+)?")
_TORCH_FOLDERS = ("fxgraph", "aotautograd")


def judged_entries(facts: Facts, host: Host, caches: tuple[Cache, ...]) -> tuple[JudgedEntry, ...]:
    """Every entry of the caches, and how it stands; empty where there is no target."""
    if facts.target is None:
        return ()
    search = dll_search(facts.target, facts.torch, host)
    found = read_entries(caches, facts.target, search)
    return tuple(judge(entry, facts) for entry in found if is_entry(Path(entry.path)))


def plan_clear(context: PlanContext, *, path: str) -> ClearCache:
    caches = tuple(cache for cache in context.facts.caches if cache.path == path)
    change = _clear_stale(path, judged_entries(context.facts, context.host, caches))
    if not change.removes:
        raise CannotRemedyError(
            f"no stale entry lies in {path}", "Look at it: tritonwin cache list"
        )
    return change


def plan_clearing(facts: Facts, entries: tuple[JudgedEntry, ...], *, everything: bool) -> Clearing:
    """A change for each cache: its stale entries, or all of its entries.

    Raises:
        CannotRemedyError: there is no target.
    """
    changes: list[ClearCache] = []
    left: list[str] = []
    for cache in facts.caches:
        change = _clear_stale(cache.path, entries)
        if everything:
            root = Path(cache.path)
            found = list(_entries(root, cache.kind))
            left += _others(root, set(found))
            what = f"clear {len(found)} cache entries of {root}"
            change = replace(change, what=what, removes=tuple(map(str, found)))
        changes += [change] if change.removes else []
    target = target_to_change(facts).executable
    return Clearing(plan=Plan(target=target, changes=tuple(changes)), left=tuple(left))


def _clear_stale(root: str, entries: Iterable[JudgedEntry]) -> ClearCache:
    stale = [each.entry.path for each in entries if each.state == "stale"]
    removes = tuple(path for path in stale if Path(path).is_relative_to(root))
    what = f"clear {len(removes)} stale cache entries of {root}"
    return ClearCache(path=root, what=what, removes=removes)


def apply_clear(change: ClearCache, context: ApplyContext) -> None:
    for entry in change.removes:
        # a folder of Triton's: others may have put files into it since the plan
        if _HASH.fullmatch(Path(entry).name) and not is_entry(Path(entry)):
            raise ChangedSincePlanError(f"{entry} has not the form of a cache entry any more")
        context.journal.delete(Path(entry))


def is_entry(folder: Path) -> bool:
    """True for a folder that is named as Triton names its entries, with nothing else in it."""
    names = names_in(folder)
    return (
        _HASH.fullmatch(folder.name) is not None
        and all(_IN_ENTRY.fullmatch(name) for name in names)
        and not any(is_folder(folder / name) for name in names if not name.startswith("tmp.pid_"))
    )


def _entries(root: Path, kind: str) -> Iterator[Path]:
    """The files and folders that have the form of an entry."""
    if kind == "triton":
        yield from _children(root, is_entry)
        return
    for device in _children(root / "triton", is_folder):
        yield from _children(device, is_entry)
    for parent in (root, *(root / name for name in _TORCH_FOLDERS)):
        for two in _children(parent, lambda path: len(path.name) == 2):
            yield from _children(two, _named_by_torch)


def _named_by_torch(path: Path) -> bool:
    """Torch keeps `ckyz....py` in the folder `ky`, alone or as a folder of that name."""
    return _TORCH_KEY.fullmatch(path.name) is not None and path.name[1:3] == path.parent.name


def _children(folder: Path, wanted: Callable[[Path], bool]) -> Iterator[Path]:
    return (path for name in names_in(folder) if wanted(path := folder / name))


def _others(root: Path, entries: set[Path]) -> Iterator[str]:
    """The outermost files and folders that are no entries and hold none."""
    holding = {parent for entry in entries for parent in entry.parents}
    for name in names_in(root):
        path = root / name
        if path in holding:
            yield from _others(path, entries)
        elif path not in entries:
            yield str(path)

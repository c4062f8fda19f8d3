"""Clear exactly the stale entries of a cache: those of no use to anybody, or in the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tritonwin.facts.cache_entries import read_entries
from tritonwin.facts.dlls.search import dll_search
from tritonwin.problems.cache_state import judge
from tritonwin.remedies.plan import CannotRemedyError, Change
from tritonwin.remedies.remedy import Means, Remedy, Work


def _plan(arguments: Mapping[str, str], means: Means) -> Change:
    path, facts = arguments["path"], means.facts
    caches = tuple(cache for cache in facts.caches if cache.path == path)
    search = dll_search(means.target, facts.torch, means.host)
    entries = read_entries(caches, means.target, search)
    stale = tuple(entry.path for entry in entries if judge(entry, facts).state == "stale")
    if not stale:
        raise CannotRemedyError(
            f"no stale entry lies in {path}", "Look at it: tritonwin cache list"
        )
    return Change(
        action="clear-cache",
        arguments={"path": path},
        what=f"clear {len(stale)} stale cache entries of {path}",
        why="",
        removes=stale,
    )


def _apply(change: Change, work: Work) -> None:
    for entry in change.removes:
        work.journal.delete(Path(entry))


REMEDY = Remedy(plan=_plan, apply=_apply, rank=70)

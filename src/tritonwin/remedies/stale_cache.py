"""Clear exactly the stale entries of a cache: helper modules that this Python cannot load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tritonwin.problems.checks.run_time import python_dll, stale_reason
from tritonwin.remedies.plan import CannotRemedyError, Change
from tritonwin.remedies.remedy import Means, Remedy, Work


def _plan(arguments: Mapping[str, str], means: Means) -> Change:
    path = arguments["path"]
    wanted = python_dll(means.target)
    stale = [
        str(Path(helper.path).parent)
        for cache in means.facts.caches
        if cache.path == path
        for helper in cache.helpers
        if helper.usable and stale_reason(helper, wanted)
    ]
    # an entry is the folder of one hash; a module right in the cache folder is no entry of it
    entries = tuple(entry for entry in dict.fromkeys(stale) if Path(entry) != Path(path))
    if not entries:
        msg = f"no stale entry lies in {path}"
        raise CannotRemedyError(msg, "Look at it: tritonwin cache list")
    return Change(
        action="clear-cache",
        arguments={"path": path},
        what=f"clear {len(entries)} stale cache entries of {path}",
        why="",
        removes=entries,
    )


def _apply(change: Change, work: Work) -> None:
    for entry in change.removes:
        work.journal.delete(Path(entry))


REMEDY = Remedy(plan=_plan, apply=_apply, rank=70)

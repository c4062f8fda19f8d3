"""Allow long paths; without administrator rights, short cache folders instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PureWindowsPath

from tritonwin.facts.model import Facts
from tritonwin.facts.system import FILE_SYSTEM
from tritonwin.facts.variables import STORED
from tritonwin.journal import RegistryValue
from tritonwin.remedies.plan import CannotRemedyError, Change
from tritonwin.remedies.remedy import Means, Remedy, Work
from tritonwin.system.winapi import in_ascii

CACHES = {"TRITON_CACHE_DIR": "t", "TORCHINDUCTOR_CACHE_DIR": "i"}


def _plan(arguments: Mapping[str, str], means: Means) -> Change:
    del arguments
    if means.facts.system.admin is not False:
        return Change(
            action="enable-long-paths",
            what="allow long paths in Windows",
            why="",
            admin=True,
            note="Programs that are running see it only after they are started anew.",
        )
    folder = short_folder(means.facts)
    return Change(
        action="enable-long-paths",
        arguments={n: str(folder / end) for n, end in CACHES.items()},
        what=f"keep the caches in {folder}, where paths stay short",
        why="",
        note="As administrator, tritonwin would allow long paths in Windows instead.",
    )


def short_folder(facts: Facts) -> PureWindowsPath:
    """A folder with a short path that the user may write to.

    Raises:
        CannotRemedyError: the place for temporary files is not known, or has no name in ASCII.
    """
    if not facts.system.temp:
        raise CannotRemedyError(
            "the folder for temporary files is not known",
            "Set TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR by hand.",
        )
    # ...\AppData\Local\Temp is the user's own; files in it may be cleaned away at any time
    parent = in_ascii(PureWindowsPath(facts.system.temp).parent)
    if parent is None:
        raise CannotRemedyError(
            "Triton takes a cache folder from a variable only if its path is in ASCII",
            "Set TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR by hand.",
        )
    return PureWindowsPath(parent) / "tw"


def _apply(change: Change, work: Work) -> None:
    if not change.arguments:
        one = RegistryValue(kind="REG_DWORD", data=1)
        work.journal.set_value(FILE_SYSTEM, "LongPathsEnabled", one)
    for name, folder in change.arguments.items():
        work.journal.set_value(STORED["user"], name, RegistryValue(kind="REG_SZ", data=folder))


REMEDY = Remedy(plan=_plan, apply=_apply, rank=80)

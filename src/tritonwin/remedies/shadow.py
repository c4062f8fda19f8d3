"""Rename a file or folder that Python imports instead of the package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tritonwin.remedies.plan import CannotRemedyError, Change
from tritonwin.remedies.remedy import Means, Remedy, Work


def _plan(arguments: Mapping[str, str], means: Means) -> Change:
    del means
    path = Path(arguments["path"])
    if not path.exists():
        raise CannotRemedyError(f"{path} is not there any more")
    # a name with a hyphen cannot be imported
    names = (f"{path.stem}-renamed{end}{path.suffix}" for end in ("", *map(str, range(2, 100))))
    new = next((p for name in names if not (p := path.with_name(name)).exists()), None)
    if new is None:
        raise CannotRemedyError(f"no free name is left beside {path}", "Rename it by hand.")
    return Change(
        action="rename-shadow",
        arguments={"path": str(path), "new": str(new)},
        what=f"rename {path} to {new.name}",
        why="",
        note="Code of yours that imports it has to be told its new name.",
    )


def _apply(change: Change, work: Work) -> None:
    work.journal.move(Path(change.arguments["path"]), Path(change.arguments["new"]))


REMEDY = Remedy(plan=_plan, apply=_apply, rank=20)

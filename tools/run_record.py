"""Records of runs of a tool: a JSON list with a line a run, to which runs are only added."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Run = TypeVar("Run", bound="DataclassInstance")


def read(path: Path, kind: type[Run]) -> tuple[Run, ...]:
    """The runs of a record, none where there is no file."""
    if not path.is_file():
        return ()
    return tuple(kind(**row) for row in json.loads(path.read_text("utf-8")))


def add(path: Path, runs: Iterable[Run], kind: type[Run]) -> None:
    """Put runs behind those that are there, each once."""
    known = dict.fromkeys((*read(path, kind), *runs))
    rows = ",\n".join(f"  {json.dumps(asdict(run))}" for run in known)
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")

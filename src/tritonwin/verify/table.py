"""The rungs as `rungs/ladder.toml` lists them, and which of them are tried."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from tritonwin.system.toml import shipped
from tritonwin.verify.model import Rung


@cache
def load() -> tuple[Rung, ...]:
    """The shipped ladder, from the ground up.

    Raises:
        TypeError, KeyError: a wrong row; tests keep that from being shipped.
    """
    return tuple(map(_rung, shipped("tritonwin.verify.rungs", "ladder.toml")["rung"]))


def _rung(row: dict[str, Any]) -> Rung:
    lists = ("needs", "helpers", "demands", "packages", "layers")
    program = row.get("program", row["id"].replace("-", "_") + ".py")
    return Rung(**{**row, **{k: tuple(row.get(k, ())) for k in lists}, "program": program})


def select(through: str | None = None, only: Collection[str] = ()) -> tuple[Rung, ...]:
    """The ladder up to and with `through`; of it, those named in `only`, if any.

    Raises:
        KeyError: there is no rung of that name.
    """
    names = [rung.id for rung in load()]
    for name in (*only, *([through] if through else [])):
        if name not in names:
            raise KeyError(name)
    last = names.index(through) if through else len(names) - 1
    return tuple(rung for rung in load()[: last + 1] if not only or rung.id in only)

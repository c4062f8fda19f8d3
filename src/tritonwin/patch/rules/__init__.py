"""All rules: the rows of `rules.toml`, with their steps or the edit that a module here declares."""

from __future__ import annotations

import importlib
import json
import pkgutil
from functools import partial
from typing import Any

from tritonwin.patch.engine import Rule, TextStep, declared, edit_text


def _rows() -> list[dict[str, Any]]:
    """The table, and the modules beside it imported. The import hook carries it as JSON."""
    carried = getattr(__spec__ and __spec__.loader, "modules", None)
    names = carried(__name__) if carried else [m.name for m in pkgutil.iter_modules(__path__)]
    for name in names:
        importlib.import_module(f"{__name__}.{name}")
    if carried:
        return list(json.loads(pkgutil.get_data(__name__, "rules.json") or b""))
    from tritonwin.system.toml import shipped

    return list(shipped(__name__, "rules.toml")["rule"])


def _rule(row: dict[str, Any]) -> Rule:
    steps = tuple(TextStep(**step) for step in row.get("steps", ()))
    edit = partial(edit_text, steps) if steps else declared[row["id"]]
    return Rule(**{**row, "covers": tuple(row.get("covers", ())), "steps": steps, "edit": edit})


RULES: tuple[Rule, ...] = tuple(map(_rule, _rows()))
BY_ID = {rule.id: rule for rule in RULES}
FILES: tuple[str, ...] = tuple(dict.fromkeys(rule.file for rule in RULES))

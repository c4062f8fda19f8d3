"""All rules: the rows of `rules.toml`, with their steps or the edit that a module here declares."""

from __future__ import annotations

import importlib
import json
import pkgutil
from typing import Any

from tritonwin.patch.engine import Rule, TextStep


def _rows() -> list[dict[str, Any]]:
    """The table, and the modules beside it imported. The import hook carries it as JSON."""
    carried = getattr(__spec__ and __spec__.loader, "modules", None)
    for name in carried(__name__) if carried else _beside():
        importlib.import_module(f"{__name__}.{name}")
    if carried:
        return list(json.loads(pkgutil.get_data(__name__, "rules.json") or b""))
    from tritonwin.system.toml import shipped

    return list(shipped(__name__, "rules.toml")["rule"])


def _beside() -> list[str]:
    """The modules of this package, also where the single file is imported from memory."""
    from importlib.resources import files

    names = (file.name for file in files(__name__).iterdir())
    return [name[:-3] for name in names if name.endswith(".py") and name != "__init__.py"]


def _rule(row: dict[str, Any]) -> Rule:
    steps = tuple(TextStep(**step) for step in row.get("steps", ()))
    return Rule(**{**row, "covers": tuple(row.get("covers", ())), "steps": steps})


RULES: tuple[Rule, ...] = tuple(map(_rule, _rows()))
BY_ID = {rule.id: rule for rule in RULES}
FILES: tuple[str, ...] = tuple(dict.fromkeys(rule.file for rule in RULES))

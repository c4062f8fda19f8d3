"""All rules: the rows of `rules.toml`, each with the edit that a module of this folder declares."""

from __future__ import annotations

import importlib
import json
import pkgutil
from typing import Any

from tritonwin.patch.engine import Rule, declared


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


RULES: tuple[Rule, ...] = tuple(
    Rule(**{**row, "covers": tuple(row.get("covers", ())), "edit": declared[row["id"]]})
    for row in _rows()
)
BY_ID = {rule.id: rule for rule in RULES}
FILES: tuple[str, ...] = tuple(dict.fromkeys(rule.file for rule in RULES))

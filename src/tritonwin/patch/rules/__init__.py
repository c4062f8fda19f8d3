"""All rules: the rows of `rules.toml`, with their steps or the edit of `by_structure`."""

from __future__ import annotations

import json
import pkgutil
from typing import Any

from tritonwin.patch.engine import Rule, TextStep
from tritonwin.patch.rules import by_structure  # noqa: F401 - it declares edits


def _rows() -> list[dict[str, Any]]:
    if __name__.startswith("_"):  # in the import hook, which carries the table as JSON
        return list(json.loads(pkgutil.get_data(__name__, "rules.json") or b""))
    from tritonwin.system.toml import shipped

    return list(shipped(__name__, "rules.toml")["rule"])


def _rule(row: dict[str, Any]) -> Rule:
    steps = tuple(TextStep(**step) for step in row.get("steps", ()))
    return Rule(**{**row, "covers": tuple(row.get("covers", ())), "steps": steps})


# in the order in which they are applied; none of them needs another
RULES: tuple[Rule, ...] = tuple(map(_rule, _rows()))
BY_ID = {rule.id: rule for rule in RULES}
FILES: tuple[str, ...] = tuple(dict.fromkeys(rule.file for rule in RULES))

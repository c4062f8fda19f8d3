"""All rules, in the order in which they are applied. Each is independent of the others."""

from __future__ import annotations

from tritonwin.patch.model import Rule
from tritonwin.patch.rules import dlfcn, temp_files

RULES: tuple[Rule, ...] = (
    temp_files.RULE,
    dlfcn.DRIVER,
    dlfcn.LAUNCHER,
)

FILES: tuple[str, ...] = tuple(dict.fromkeys(rule.file for rule in RULES))


def rule(identifier: str) -> Rule | None:
    return next((each for each in RULES if each.id == identifier), None)

"""All rules. A module of this folder declares them with `@rule`; nothing else lists them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from tritonwin.patch.engine import Rule, declared

if TYPE_CHECKING:
    from collections.abc import Iterable


def _modules() -> Iterable[str]:
    loader = __spec__.loader if __spec__ else None
    carried = getattr(loader, "modules", None)  # of the import hook
    return (
        carried(__name__) if carried else (found.name for found in pkgutil.iter_modules(__path__))
    )


for _name in sorted(_modules()):
    importlib.import_module(f"{__name__}.{_name}")

# By file, those for NVIDIA first. No rule needs another: any order comes to the same.
RULES: tuple[Rule, ...] = tuple(
    sorted(declared, key=lambda r: (r.need == "tools", r.backend == "amd", r.file))
)
BY_ID = {rule.id: rule for rule in RULES}
FILES: tuple[str, ...] = tuple(dict.fromkeys(rule.file for rule in RULES))

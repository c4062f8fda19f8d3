"""A healthy PC with changes that stand in a file: `pc({"torch": {"cuda": "13.0"}})`.

A table is merged into the record of its name. In place of a list, a table changes it: by the number
of an item, `first` and `add` put items before and behind, `without` takes those of a name away.
Items are what healthy.py makes of them; `lacks` names the fields that are not known, also at the top.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from healthy import HEALTHY, SDK, TOOLSET, dist, gpu, radeon, toolkit, variable

from tritonwin.facts.records import Facts
from tritonwin.system.codec import from_json, to_json


def _gpu(**fields: Any) -> Any:
    return fields if "vendor" in fields else replace(gpu("8.9"), **fields)


def _variable(name: str, value: str, *, scope: Any = "process", flaws: Any = ()) -> Any:
    return replace(variable(name, value, *flaws), scope=scope)


def _dist(name: str, version: str, **fields: Any) -> Any:
    return replace(dist(name, version), **fields)


def _toolkit(version: str, place: str, **fields: Any) -> Any:
    return replace(toolkit(version, place), **fields)


_ITEMS: dict[str, Callable[..., Any]] = {
    "cuda_toolkits": _toolkit,
    "distributions": _dist,
    "gpus": _gpu,
    "msvc": lambda **fields: replace(TOOLSET, **fields),
    "variables": _variable,
    "windows_sdks": lambda **fields: replace(SDK, **fields),
}


def _item(kind: str, given: dict[str, Any]) -> Any:
    fields = {name: value for name, value in given.items() if name != "lacks"}
    made = to_json(_ITEMS.get(kind, dict)(**fields))
    assert isinstance(made, dict)
    return {**made, **dict.fromkeys(given.get("lacks", ()))}


def _merged(kind: str, old: Any, new: Any) -> Any:
    if isinstance(new, list) and all(isinstance(item, dict) for item in new):
        return [_item(kind, item) for item in new]
    if not isinstance(new, dict):
        return new
    if not isinstance(old, list):
        old = old or {}
        changes = {name: _merged(name, old.get(name), value) for name, value in new.items()}
        return {**old, **changes, **dict.fromkeys(changes.pop("lacks", ()))}
    items = [
        _merged("", item, new.get(str(number), {}))
        for number, item in enumerate(old)
        if item.get("name") not in new.get("without", ())
    ]
    made = {end: [_item(kind, item) for item in new.get(end, ())] for end in ("first", "add")}
    return [*made["first"], *items, *made["add"]]


def pc(changes: dict[str, Any], *, on_amd: bool = False) -> Facts:
    """The healthy PC, with NVIDIA's or AMD's card, with these changes."""
    return from_json(Facts, _merged("", to_json(radeon() if on_amd else HEALTHY), changes))

"""Kernels and their tiles by compute capability: the data of plans.toml."""

from __future__ import annotations

import functools
import importlib.resources
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Plan = dict[str, Any]
Purpose = tuple[tuple[str, object], ...]
CONDITIONS = ("precision", "bytes", "rows")  # of a special case, by `choose.purpose`

# What `autotune` found in this process: (kind, capability, what for) -> plan.
_tuned: dict[tuple[object, ...], Plan] = {}


@functools.cache
def _data() -> dict[str, Any]:
    text = importlib.resources.files(__package__).joinpath("plans.toml").read_text("utf-8")
    return tomllib.loads(text)


def best(entries: list[Plan], capability: int) -> Plan | None:
    """The entry with the highest `from` not above the capability, if its `to` is not below."""
    fitting = [e for e in entries if e["from"] <= capability <= e.get("to", capability)]
    return max(fitting, key=lambda e: int(e["from"]), default=None)


def plan(kind: str, capability: int, purpose: Purpose = ()) -> Plan | None:
    """The tiles of one kind of kernel, or None where it has none for that architecture.

    purpose: pairs by which the entry's special cases (`for`) are matched; a plan that was
    remembered for the very same purpose takes precedence.
    """
    entry = best(_data()[kind], capability)
    if entry is None:
        return None
    return _tuned.get((kind, capability, purpose)) or special(entry, purpose)


def special(entry: Plan, purpose: Purpose) -> Plan:
    """The entry with the last of its special cases whose conditions the purpose names."""
    named = dict(purpose)
    cases = [
        case
        for case in entry.get("for", ())
        if all(case[k] == named.get(k) for k in CONDITIONS if k in case)
    ]
    return entry | (cases[-1] if cases else {})


def sure(kind: str, capability: int, purpose: Purpose = ()) -> Plan:
    """The same for a kind that every architecture has."""
    found = plan(kind, capability, purpose)
    if found is None:
        raise RuntimeError(f"no {kind} plan for compute capability {capability}")
    return found


def remember(kind: str, capability: int, purpose: Purpose, found: Plan) -> None:
    _tuned[kind, capability, purpose] = found


def forget() -> None:
    _tuned.clear()


def slide_from(capability: int, purpose: Purpose = ()) -> int:
    """The shortest named window for which the sliding form is taken."""
    return int(sure("slide", capability, purpose)["window"])

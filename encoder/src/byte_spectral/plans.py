"""Kernels and their tiles by compute capability: the data of plans.toml."""

from __future__ import annotations

import bisect
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
# of a special case, by `choose.purpose`
CONDITIONS = ("precision", "bytes", "parts", "rows", "whole", "turned", "size")


@functools.cache
def _data() -> dict[str, Any]:
    text = importlib.resources.files(__package__).joinpath("plans.toml").read_text("utf-8")
    return tomllib.loads(text)


def plan(kind: str, capability: int, purpose: Purpose = ()) -> Plan | None:
    """The tiles of one kind of kernel, or None where it has none for that architecture.

    The entry with the highest `from` not above the capability, if its `to` is not below, and all of
    its special cases (`for`) whose conditions the purpose names, in order.
    """
    every = _data()[kind]
    fitting = [e for e in every if e["from"] <= capability <= e.get("to", capability)]
    if not fitting:
        return None
    found, named = dict(max(fitting, key=lambda e: int(e["from"]))), dict(purpose)
    for case in found.get("for", ()):
        wanted = {k: v if isinstance(v, list) else [v] for k, v in case.items() if k in CONDITIONS}
        if all(named.get(k) in values for k, values in wanted.items()):
            found |= case
    return found


def size_of(count: int) -> int:
    """0 to 7: how many programs a call of so many positions times bins has for the device."""
    return bisect.bisect(_data()["sizes"], count)


def sure(kind: str, capability: int, purpose: Purpose = ()) -> Plan:
    """The same for a kind that every architecture has."""
    found = plan(kind, capability, purpose)
    if found is None:
        raise RuntimeError(f"no {kind} plan for compute capability {capability}")
    return found

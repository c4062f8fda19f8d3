"""AMD's chips: `amd.toml`, and the questions that it answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from tritonwin.system.toml import read_resource


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A chip by its gfx name; the fields are explained in the table."""

    name: str
    cards: str
    names: str = "$^"  # an expression
    devices: tuple[str, ...] = ()
    family: str | None = None
    integrated: bool = False


@dataclass(frozen=True, kw_only=True)
class ChipTable:
    """The content of `amd.toml`."""

    chips: tuple[Chip, ...]


@cache
def chips() -> tuple[Chip, ...]:
    """The shipped table."""
    return read_resource("tritonwin.facts", "amd.toml", ChipTable).chips


def chip(name: str | None) -> Chip | None:
    """The chip of that gfx name; None: the table does not know it."""
    return next((each for each in chips() if each.name == name), None)


def chip_of_device(device: str) -> Chip | None:
    """The chip of a PCI id such as "744C"."""
    return next((each for each in chips() if device.lower() in each.devices), None)


def chips_in(text: str) -> tuple[Chip, ...]:
    """The chips of the cards that a text names."""
    return tuple(c for c in chips() if re.search(c.names, text, re.IGNORECASE))


def served(suffix: str) -> tuple[str, ...]:
    """The chips that a package is for, by the end of its name: "gfx1100", or "gfx110x-all"."""
    return tuple(c.name for c in chips() if suffix in {c.name, (c.family or "").lower()})

"""What stands behind the + of a wheel's version: against what it was built."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from tritonwin.build.order import Machine, Order
from tritonwin.build.recipe import Recipe
from tritonwin.errors import UserError
from tritonwin.support.versions import series

_OTHER = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 60  # characters; the wheel's name has to be one of a file


def choose(recipe: Recipe, order: Order, machine: Machine) -> str:
    """What was asked for, or "cu130torch2.11", as the makers of the public Windows wheels write it.

    Raises:
        UserError: no wheel can be called so, which would come out hours later.
    """
    if order.local_version is not None:
        return _checked(order.local_version)
    torch = machine.facts.torch
    if not recipe.needs_torch or torch is None or torch.cuda is None:
        return ""
    named = f"cu{torch.cuda.replace('.', '')}torch{series(torch.version) or torch.version}"
    return _OTHER.sub(".", named[:_LONGEST]).strip(".")


def _checked(asked: str) -> str:
    try:
        if len(asked) <= _LONGEST and Version(f"0+{asked}").local:
            return asked
    except InvalidVersion:
        pass
    raise UserError(
        f"{asked[:_LONGEST]!r} cannot stand behind the + of a version",
        "Take letters, digits and dots: --local-version cu128torch2.9",
    )

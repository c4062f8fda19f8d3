"""Which Triton a torch asks for, and which series of triton-windows serve it."""

from __future__ import annotations

import re

from packaging.version import Version

from tritonwin.facts.model import Torch
from tritonwin.support import matrix


def wanted_series(torch: Torch) -> str | None:
    """The series of Triton that torch asks for: its own metadata first, then the table."""
    if torch.wants_triton and (found := re.search(r"[0-9]{1,4}\.[0-9]{1,4}", torch.wants_triton)):
        return found[0]
    pair = matrix.load().pair(torch.version)
    return pair.triton if pair else None


def served_series(torch: Torch, wanted: str) -> tuple[str, ...]:
    """The series of triton-windows that serve this torch, the one to install last."""
    pair = matrix.load().pair(torch.version)
    return tuple(dict.fromkeys((wanted, (pair and pair.windows) or wanted)))


def released(series: str) -> bool:
    """Whether a triton-windows of that series, or of a later one, is known to exist."""
    return Version(series) <= Version(matrix.load().newest_release().series)

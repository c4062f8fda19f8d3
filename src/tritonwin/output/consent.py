"""Ask a person before something is changed."""

from __future__ import annotations

import sys

from rich.text import Text

from tritonwin.output.terminal import console
from tritonwin.output.text import printable


def agreed(question: str) -> bool:
    """Whether the person answers yes; an input that has ended says no."""
    console().print(Text(f"{printable(question)} [y/N] "), end="")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}

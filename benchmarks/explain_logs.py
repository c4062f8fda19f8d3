"""Logs of any length for `benchmarks/explain.py`: made, not collected, no compile twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tritonwin.system import toml

_TEXTS: dict[str, Any] = toml.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
PLANTED: dict[str, str] = _TEXTS["planted"]  # by the id that explain must find


def successes(size: int) -> Iterator[str]:
    """A `ninja -v` log of about `size` bytes in which the compiles succeed."""
    yield from _planted(size, ("cl", "nvcc", "nvcc", "ptxas", "cl", "warning"))


def failures(size: int) -> Iterator[str]:
    """About `size` bytes of tracebacks and compiler errors, of problems that nobody knows."""
    yield from _planted(size, ("traceback", "compiler"))


def _planted(size: int, kinds: Sequence[str]) -> Iterator[str]:
    waiting = list(PLANTED.values())
    written = number = 0
    while written < size:
        if waiting and written >= size * (len(PLANTED) - len(waiting) + 0.5) / len(PLANTED):
            text = waiting.pop(0)
        else:
            name = hashlib.blake2b(str(number).encode(), digest_size=8).hexdigest()
            text = _TEXTS[kinds[number % len(kinds)]].format(
                n=number, total=10_000_000, name=f"kernel_{name}", part=f"part{number % 7}"
            )
        number += 1
        written += len(text) + 1
        yield text + "\n"

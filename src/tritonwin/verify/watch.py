"""What a climb is at right now, for whoever shows it meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tritonwin.verify.model import Rung


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A rung that is being tried, since `seconds`; `step`: what it says that it is doing."""

    title: str
    seconds: float
    step: str | None


class Watch:
    """The rungs that are being tried. Filled by the threads of a climb, read by any other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[str, tuple[Rung, Path, float]] = {}

    @contextmanager
    def trying(self, rung: Rung, folder: Path) -> Iterator[None]:
        """While its program runs in `folder`."""
        with self._lock:
            self._begun[rung.id] = rung, folder, time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._begun[rung.id]

    def now(self) -> tuple[Trial, ...]:
        with self._lock:
            begun = tuple(self._begun.values())
        return tuple(
            Trial(title=rung.title, seconds=time.monotonic() - start, step=last_step(folder))
            for rung, folder, start in begun
        )


def last_step(folder: Path) -> str | None:
    """What the program that runs in `folder` said last that it is doing (`doing` of frame.py)."""
    try:
        return (folder / "doing").read_text("utf-8", "replace") or None
    except OSError:
        return None

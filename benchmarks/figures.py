"""One measured figure beside its goal, and the file that keeps them: results/cpu.json."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

SCHEMA = "tritonwin.benchmarks/1"
LINUX, WINE = "Linux", "Windows under Wine"
FILE = Path(__file__).resolve().parent / "results" / "cpu.json"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A ratio, or what `unit` says; `least` goals are lower bounds, all others upper ones."""

    what: str
    where: str
    value: float
    goal: float
    unit: str = ""
    least: bool = False
    detail: str = ""

    @property
    def met(self) -> bool:
        return self._holds(self.value)

    @property
    def aim(self) -> str:
        return f"at {'least' if self.least else 'most'} {self.goal:g}{self._unit}"

    @property
    def shown(self) -> str:
        """With as many digits as show on which side of the goal it lies, three at least."""
        texts = (f"{self.value:.{digits}g}" for digits in range(3, 17))
        honest = (text for text in texts if self._holds(float(text)) == self.met)
        return next(honest, repr(self.value)) + self._unit

    def _holds(self, value: float) -> bool:
        return value >= self.goal if self.least else value <= self.goal

    def __str__(self) -> str:
        verdict = "met" if self.met else "MISSED"
        return f"{self.what}, {self.where}: {self.shown} ({self.aim}), {self.detail}: {verdict}"

    @property
    def _unit(self) -> str:
        return f" {self.unit}" if self.unit else ""


def all_met(figures: Iterable[Figure]) -> int:
    """The exit status of a benchmark."""
    return 0 if all(figure.met for figure in figures) else 1


def save(figures: Iterable[Figure], runs: int, note: str) -> None:
    found = {
        "schema": SCHEMA,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": f"{os.cpu_count()} cores of {_processor()}, Linux",
        "python": ".".join(map(str, sys.version_info[:3])),
        "runs": runs,
        "note": note,
        "figures": [asdict(figure) for figure in figures],
    }
    FILE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8", newline="\n")


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else "a processor of unknown name"


def load() -> tuple[dict[str, Any], tuple[Figure, ...]]:
    """The saved circumstances and figures."""
    found = json.loads(FILE.read_text("utf-8"))
    return found, tuple(Figure(**each) for each in found["figures"])

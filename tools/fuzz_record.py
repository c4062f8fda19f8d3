#!/usr/bin/env python3
"""What was fuzzed, added up over runs: tests/fuzz/record.json, and the table in docs/threats.md.

    python tools/fuzz_record.py                write the table
    python tools/fuzz_record.py RECORD ...     add the runs of other records first, each once

A run is recorded by `tools/fuzz.py --record` when it ended without a defect.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import generated
import run_record

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "fuzz" / "record.json"
PAGE = ROOT / "docs" / "threats.md"
ENGINES = ("plain", "atheris")
_HEAD = [
    "| target | what it reads | at random | guided | together |",
    "| --- | --- | ---: | ---: | ---: |",
]
WANTED = 1_000_000  # of each target, as `python tools/dev.py test --full` runs them
_FEWER = f"Where less than {WANTED:,} stands, the million of `--full` has not run yet."


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run that ended without a defect.

    Attributes:
        engine: "plain" (seeds changed at random) or "atheris" (guided by coverage).
        seed: what the random numbers began with; no two plain runs of a target share one.
        date: of its end, "2026-11-28T07:00Z".
        commit: what was fuzzed; with "+" where files were not committed.
    """

    target: str
    executions: int
    seconds: int
    engine: str
    seed: int
    date: str
    commit: str


def read(path: Path = RECORD) -> tuple[Run, ...]:
    return run_record.read(path, Run)


def add(runs: Iterable[Run], path: Path = RECORD) -> None:
    run_record.add(path, runs, Run)


def executions(runs: Iterable[Run], target: str, engine: str | None = None) -> int:
    """How often a target was tried, by one engine or by all."""
    return sum(
        run.executions for run in runs if run.target == target and engine in (None, run.engine)
    )


def filled(page: str, targets: Mapping[str, Any], runs: Sequence[Run]) -> str:
    """The page with its table as the record has it; what a target reads its docstring says."""
    lines = list(_HEAD)
    fewest = WANTED
    for name, target in targets.items():
        reads = (target.__doc__ or "").strip().split("\n")[0].rstrip(".")
        counts = [executions(runs, name, engine) for engine in (*ENGINES, None)]
        lines.append(f"| `{name}` | {reads} | " + " | ".join(f"{n:,}" for n in counts) + " |")
        fewest = min(fewest, counts[-1])
    if fewest < WANTED:
        lines += ["", _FEWER]
    return generated.filled(page, {"fuzzing": lambda: "\n".join(lines)})


def main(others: Sequence[str]) -> None:
    for other in others:
        add(read(Path(other)))
    sys.path[:0] = [str(ROOT / name) for name in ("tests/fuzz", "tests", "tools", "src")]
    targets = importlib.import_module("targets").TARGETS
    PAGE.write_text(filled(PAGE.read_text("utf-8"), targets, read()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
"""How many small changes tests noticed: tests/mutation_record.json, the table in docs/proof.md.

    python tools/mutation_record.py                write the table
    python tools/mutation_record.py RECORD ...     add the runs of other records first, each once

A run is recorded by `tools/mutate.py --record`.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import generated
import run_record

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "mutation_record.json"
PAGE = ROOT / "docs" / "proof.md"
_HEAD = [
    "| area | changes | tried | seed | commit, date | noticed | 95 % interval |",
    "| --- | ---: | ---: | ---: | --- | ---: | --- |",
]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A sample of the mutants of an area, all of which were tried.

    Attributes:
        mutants: of the whole area.
        date: of its end, "2026-11-28".
        commit: what was changed and tested; with "+" where files were not committed.
    """

    area: str
    mutants: int
    tried: int
    noticed: int
    seed: int
    date: str
    commit: str


def read(path: Path = RECORD) -> tuple[Run, ...]:
    return run_record.read(path, Run)


def add(runs: Iterable[Run], path: Path = RECORD) -> None:
    run_record.add(path, runs, Run)


def interval(part: int, total: int) -> tuple[float, float]:
    """Between which shares the true one lies with 95 % certainty (Wilson)."""
    z, share = 1.96, part / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (middle - reach) / (1 + z * z / total), (middle + reach) / (1 + z * z / total)


def filled(page: str, areas: Mapping[str, str], runs: Sequence[Run]) -> str:
    """The page with its table as the record has it: by area, in the order of the runs."""
    lines = list(_HEAD)
    for name, about in areas.items():
        for run in (run for run in runs if run.area == name):
            low, high = interval(run.noticed, run.tried)
            lines.append(
                f"| `{name}`: {about} | {run.mutants:,} | {run.tried} | {run.seed} "
                f"| {run.commit}, {run.date} "
                f"| {run.noticed} ({run.noticed / run.tried:.1%}) | {low:.1%} to {high:.1%} |"
            )
    return generated.filled(page, {"mutation": lambda: "\n".join(lines)})


def main(others: Sequence[str]) -> None:
    for other in others:
        add(read(Path(other)))
    areas = importlib.import_module("mutate").AREAS
    abouts = {name: area.about for name, area in areas.items()}
    PAGE.write_text(filled(PAGE.read_text("utf-8"), abouts, read()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

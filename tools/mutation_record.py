#!/usr/bin/env python3
"""How many small changes tests noticed: tests/mutation_record.json, the table in docs/proof.md.

    python tools/mutation_record.py                write the table
    python tools/mutation_record.py RECORD ...     add the runs of other records first, each once

A run is recorded by `tools/mutate.py --record`.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
    """The runs of a record, none where there is no file."""
    if not path.is_file():
        return ()
    return tuple(Run(**row) for row in json.loads(path.read_text("utf-8")))


def add(runs: Iterable[Run], path: Path = RECORD) -> None:
    """Put runs behind those that are there, each once."""
    known = tuple(dict.fromkeys((*read(path), *runs)))
    rows = ",\n".join(f"  {json.dumps(asdict(run))}" for run in known)
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


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
    table = "\n".join(lines)
    start, end = "<!-- generated: mutation -->\n", "\n\n<!-- end -->"
    return re.sub(f"(?<={start}).*?(?={end})", f"\n{table}", page, count=1, flags=re.DOTALL)


def main(others: Sequence[str]) -> None:
    for other in others:
        add(read(Path(other)))
    areas = importlib.import_module("mutate").AREAS
    abouts = {name: area.about for name, area in areas.items()}
    PAGE.write_text(filled(PAGE.read_text("utf-8"), abouts, read()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

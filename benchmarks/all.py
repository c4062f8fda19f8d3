#!/usr/bin/env python3
"""Every ratio that the project sets itself a goal for, in one table, with the goal beside each.

    python benchmarks/all.py [--runs N] [--megabytes N] [--note TEXT]    measure what runs here
    python benchmarks/all.py --table                                     only write the table again

What is measured goes to results/cpu.json, the table of it into the README. Run it on a quiet
machine; it ends with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import figures
import generated
from figures import Figure

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "README.md"


def measure(runs: int, megabytes: int) -> list[Figure]:
    import explain
    import fix
    import patch
    import single_file
    import startup

    return [
        *explain.measure(megabytes),  # first: it reports the most memory that this process ever had
        *startup.on_linux(runs),
        *startup.in_the_lane(runs),
        *single_file.measure(runs),
        fix.measure(max(runs // 2, 1)),
        *patch.measure(runs),
    ]


def table() -> str:
    """The table of the page, as the results have it."""
    found, measured = figures.load()
    day = date.fromisoformat(found["date"])
    head = (
        f"{found['machine']}, {day.day} {day:%B %Y}, Python {found['python']}"
        f"{', ' + found['note'] if found['note'] else ''}; `python benchmarks/all.py`:"
    )
    rows = [f"| {f.what} | {f.where} | {f.shown} | {f.aim} | {_word(f.met)} |" for f in measured]
    return "\n".join(
        [
            head,
            "",
            "| what | where | measured | goal | |",
            "| --- | --- | --- | --- | --- |",
            *rows,
        ]
    )


def _word(met: bool) -> str:
    return "met" if met else "**missed**"


def filled(page: str) -> str:
    """The page with the table as the results have it."""
    return generated.filled(page, {"benchmarks": table})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--note", default="", help="what else the machine does")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        figures.save(measure(options.runs, options.megabytes), options.runs, options.note)
    PAGE.write_text(filled(PAGE.read_text("utf-8")), encoding="utf-8", newline="\n")
    print(table())
    return figures.all_met(figures.load()[1])


if __name__ == "__main__":
    sys.exit(main())

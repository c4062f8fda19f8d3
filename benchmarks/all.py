#!/usr/bin/env python3
"""Measure every figure that has a goal.

    python benchmarks/all.py [--runs N] [--megabytes N] [--note TEXT]    measure what runs here

The figures go to results/cpu.json, from which the page on speed is written when the site is built.
Run it on a quiet machine; it ends with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys

import figures
from figures import Figure


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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--note", default="", help="what else the machine does")
    options = parser.parse_args()
    found = measure(options.runs, options.megabytes)
    figures.save(found, options.runs, options.note)
    return figures.all_met(found)


if __name__ == "__main__":
    sys.exit(main())

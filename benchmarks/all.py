#!/usr/bin/env python3
"""Measure every figure that has a goal.

    python benchmarks/all.py [--only PART] [--runs N] [--megabytes N] [--note TEXT]

The figures of a whole run go to results/cpu.json, from which the page on speed is written when the
site is built. Use a quiet machine. The exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import figures
from figures import Figure


def measure(runs: int, megabytes: int, only: str | None) -> list[Figure]:
    import explain
    import fix
    import patch
    import startup

    parts: dict[str, Callable[[], list[Figure]]] = {
        # first: it reports the most memory that this process ever had
        "explain": lambda: explain.measure(megabytes),
        "startup": lambda: startup.measure(runs),
        "fix": lambda: [fix.measure(max(runs // 2, 1))],
        "patch": lambda: patch.measure(runs),
    }
    return [figure for name in ([only] if only else parts) for figure in parts[name]()]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=["explain", "fix", "patch", "startup"])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--note", default="", help="what else the machine does")
    options = parser.parse_args()
    found = measure(options.runs, options.megabytes, options.only)
    if not options.only:
        figures.save(found, options.runs, options.note)
    return figures.all_met(found)


if __name__ == "__main__":
    sys.exit(main())

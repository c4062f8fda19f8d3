#!/usr/bin/env python3
"""How long doctor and --version take, as ratios to what a user knows, in one run.

    python benchmarks/startup.py [--runs N] [--lane]

doctor is compared with `import torch` in the Python that it examines, `tritonwin --version` with
`python -c pass`. Goals: at most 0.5 and at most 3. The Linux environment is the one with torch;
with --lane the same is measured in Windows Python under Wine.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from dev import TORCH
from figures import LINUX, WINE, Figure, all_met, tell


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratio(
    what: str, where: str, goal: float, first: Callable[[], object], second: Callable[[], object],
    runs: int,
) -> Figure:  # fmt: skip
    """Time both alternately, so that what else the machine does hits both, and compare medians."""
    first(), second()  # file caches warm for both
    pairs = [(seconds(first), seconds(second)) for _ in range(runs)]
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    return tell(Figure(what=what, where=where, value=one / other, goal=goal,
                       detail=f"{one:.3f} s / {other:.3f} s, median of {runs}"))  # fmt: skip


def program(*command: str | Path) -> Callable[[], object]:
    def run() -> None:
        done = subprocess.run([str(c) for c in command], capture_output=True, check=False,
                              timeout=300)  # fmt: skip
        if done.returncode not in {0, 1}:
            sys.exit(f"{command} ended with {done.returncode}: {done.stderr.decode()[-500:]}")

    return run


def on_linux(runs: int) -> list[Figure]:
    TORCH.make()
    target = TORCH.python
    tool: Sequence[str | Path] = (sys.executable, "-m", "tritonwin")
    return [
        ratio("`tritonwin --version` / `python -c pass`", LINUX, 3, program(*tool, "--version"),
              program(sys.executable, "-c", "pass"), 3 * runs),
        ratio("`doctor` / `import torch` of the examined Python", LINUX, 0.5,
              program(*tool, "doctor", "--python", target),
              program(target, "-c", "import torch"), runs),
    ]  # fmt: skip


def in_the_lane(runs: int) -> list[Figure]:
    from winlane import Lane, Machine
    from winlane.resources import WHEELS

    packages = [WHEELS["torch-cpu"], WHEELS["triton-3.5"]]
    with Lane.ready() as lane, Machine(lane) as machine:
        machine.gpu()
        env = machine.environment("3.12", "full", packages)
        return [
            ratio("`doctor` / `import torch` of the examined Python", WINE, 0.5,
                  lambda: machine.tool("doctor", "--python", env.python),
                  lambda: env.run("-c", "import torch").check(), runs),
        ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--lane", action="store_true")
    options = parser.parse_args()
    figures = on_linux(options.runs)
    if options.lane:
        figures += in_the_lane(options.runs)
    return all_met(figures)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How long the single file takes to start, against the installed tool: ratios, in one run.

    python benchmarks/single_file.py [--runs N]

Both print their version. The file has laid its contents out before, as it does once; goal: at most
1.5 times the installed tool, on Linux and in Windows Python under Wine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import build_pyz
from figures import LINUX, WINE, Figure, all_met
from startup import ratio

GOAL = 1.5
WHAT = "`tritonwin.pyz --version` / `tritonwin --version`"


def on_linux(file: Path, runs: int) -> Figure:
    env = {**os.environ, "TRITONWIN_HOME": str(file.parent / "home")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # the installed tool has been compiled before

    def start(*words: str) -> None:
        command = [sys.executable, *words, "--version"]
        subprocess.run(command, env=env, check=True, timeout=60, stdout=subprocess.DEVNULL)

    single, installed = (lambda: start(str(file))), (lambda: start("-m", "tritonwin"))
    return ratio(WHAT, LINUX, GOAL, single, installed, runs)


def in_the_lane(file: Path, runs: int) -> Figure:
    from winlane import Lane, Machine

    with Lane.ready() as lane, Machine(lane) as machine:
        machine.place(r"C:\tools\tritonwin.pyz", file)
        env = machine.environment("3.12", "bare")
        return ratio(
            WHAT, WINE, GOAL,
            lambda: env.run(r"C:\tools\tritonwin.pyz", "--version").check(),
            lambda: machine.tool("--version").check(),
            runs,
        )  # fmt: skip


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tritonwin.pyz")
        build_pyz.build(file)
        return [on_linux(file, 3 * runs), in_the_lane(file, runs)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    return all_met(measure(parser.parse_args().runs))


if __name__ == "__main__":
    sys.exit(main())

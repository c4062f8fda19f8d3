"""Start-up times as ratios, on Linux and in Windows Python under Wine.

doctor is compared with `import torch` in the Python that it examines, `tritonwin --version` with
`python -c pass`, and the single file, which has unpacked itself before, with the installed tool.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import build_pyz
from dev import TORCH
from figures import LINUX, WINE, Figure, tell

SINGLE_FILE = "`tritonwin.pyz --version` / `tritonwin --version`"


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


def _single_file_on_linux(file: Path, runs: int) -> Figure:
    env = {**os.environ, "TRITONWIN_HOME": str(file.parent / "home")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # the installed tool has been compiled before

    def start(*words: str) -> None:
        command = [sys.executable, *words, "--version"]
        subprocess.run(command, env=env, check=True, timeout=60, stdout=subprocess.DEVNULL)

    single, installed = (lambda: start(str(file))), (lambda: start("-m", "tritonwin"))
    return ratio(SINGLE_FILE, LINUX, 1.5, single, installed, runs)


def _single_file_in_the_lane(file: Path, runs: int) -> Figure:
    from winlane import Lane, Machine

    with Lane.ready() as lane, Machine(lane) as machine:
        machine.place(r"C:\tools\tritonwin.pyz", file)
        env = machine.environment("3.12", "bare")
        return ratio(
            SINGLE_FILE, WINE, 1.5,
            lambda: env.run(r"C:\tools\tritonwin.pyz", "--version").check(),
            lambda: machine.tool("--version").check(),
            runs,
        )  # fmt: skip


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tritonwin.pyz")
        build_pyz.build(file)
        single = [_single_file_on_linux(file, 3 * runs), _single_file_in_the_lane(file, runs)]
    return [*on_linux(runs), *in_the_lane(runs), *single]

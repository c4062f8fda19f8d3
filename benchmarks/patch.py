"""The cost of `patch`: the import with the hook, a launch after an edit on disk, and `status`.

The first two are measured in Windows Python under Wine, with upstream's sources on the fork's
binaries: the same import with and without the hook, in turn; and the same kernel launched by the
thousand, by the patched sources and by the fork of the same version. Goals: at most 1.10, at most
1.05, and 0.3 s for status on a folder, in this Python. All is processor time: how long a start
waits for a busy machine is no cost of ours.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "winlane")]

# ruff: noqa: E402 - the lane lies in folders that no installation adds
from figures import LINUX, WINE, Figure, tell
from winlane import Environment, Lane, Machine
from winlane.upstream import Upstream

from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.install import generate
from tritonwin.patch.rules import RULES
from tritonwin.patch.session import of_folder

overlay: Any = importlib.import_module("overlay")

# from the start of the process on, so that what the hook adds to it counts as well
_IMPORT = "import time, triton; print(time.process_time())"


def import_seconds(made: Environment) -> float:
    return float(made.run("-c", _IMPORT).check().stdout)


def hook(machine: Machine, version: Any, runs: int) -> Figure:
    """Both environments hold the same unpatched sources; one has the hook."""
    plain, hooked = overlay.overlay(machine, version), overlay.overlay(machine, version)
    for name, content in generate(RuleChoice(only=(), allow_unknown=False)).items():
        hooked.replace(hooked.site_packages / name, content)
    for made in (plain, hooked):
        import_seconds(made)  # compiled files, and what the hook keeps
    pairs = [(import_seconds(hooked), import_seconds(plain)) for _ in range(runs)]
    # what else the machine does only adds: the fastest of each is the least disturbed
    with_hook, without = (min(column) for column in zip(*pairs, strict=True))
    medians = tuple(statistics.median(column) for column in zip(*pairs, strict=True))
    return tell(Figure(
        what="`import triton` with the patching hook / without", where=WINE,
        value=with_hook / without, goal=1.10,
        detail=f"{with_hook:.3f} s / {without:.3f} s, fastest of {runs} "
        f"(medians {medians[0]:.3f}, {medians[1]:.3f})",
    ))  # fmt: skip


def launch(machine: Machine, version: Any, runs: int) -> Figure:
    fork, patched = overlay.fork(machine, version), overlay.overlay(machine, version)
    overlay.edit(patched, RULES)
    pairs = [(_launch_cost(patched), _launch_cost(fork)) for _ in range(runs)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    return tell(Figure(
        what="a launch by sources patched on disk / by triton-windows", where=WINE,
        value=ours / theirs, goal=1.05,
        detail=f"{ours:.2f} us / {theirs:.2f} us, fastest of {runs}",
    ))  # fmt: skip


def _launch_cost(made: Environment) -> float:
    said = overlay.run(made, "launch_cost")["launch_cost"]
    if "error" in said:
        sys.exit(said["trace"])
    return float(said["ok"])


def status(lane: Lane, version: Any, runs: int) -> Figure:
    package = Upstream(lane.cache).sources(version.upstream) / "triton"
    times = []
    for _ in range(runs):
        start = time.process_time()
        of_folder(package).status()
        times.append(time.process_time() - start)
    return tell(Figure(
        what="`patch status` of a folder", where=LINUX, value=statistics.median(times), goal=0.3,
        unit="s", detail=f"median of {runs}",
    ))  # fmt: skip


def measure(runs: int, triton: str = "3.8.0") -> list[Figure]:
    version = overlay.VERSIONS[triton]
    with Lane.ready() as lane:
        figures = [status(lane, version, runs)]
        with Machine(lane) as machine:
            figures.append(hook(machine, version, runs))
        with Machine(lane) as machine:
            figures.append(launch(machine, version, max(runs // 3, 2)))
    return figures

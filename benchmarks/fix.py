"""The time of fix beside pip alone, from a bare embedded Python to a compiled kernel, under Wine.

pip alone is `pip install triton-windows` from the same folder of wheels, by the pip that fix lends
to the Python. Goal: fix takes at most 1.25 times as long, its proof included. The profile says
where the rest goes: seconds after the start at which each step began.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from figures import WINE, Figure, tell

GOAL = 1.25
NEEDED = ("triton-3.8", "pip")


def measure(runs: int) -> Figure:
    from winlane import Lane

    with Lane.ready() as lane:
        pairs = [one_run(lane) for _ in range(runs)]
    pip, fix = (statistics.median(column) for column in zip(*pairs, strict=True))
    return tell(Figure(
        what="`fix` of a bare embedded Python, proof included / pip alone", where=WINE,
        value=fix / pip, goal=GOAL, detail=f"{fix:.2f} s / {pip:.2f} s, median of {runs}",
    ))  # fmt: skip


def one_run(lane: Any) -> tuple[float, float]:
    """Seconds of pip alone and of fix, each in a bare Python of its own."""
    from winlane import Machine, standins
    from winlane.packages import Packages

    folder = Packages(lane.cache).wheels("3.12", NEEDED)
    wheels = lane.drives.windows(folder)
    with Machine(lane) as machine:
        machine.gpu()
        machine.register_python(machine.environment("3.12", "full"))
        bare, other = (machine.environment("3.12", "bare") for _ in range(2))
        standins.cuda_torch(bare, machine.fakes, "2.14.1", "13.0")
        lent = lane.drives.windows(next(folder.glob("pip-*.whl")))
        start = time.perf_counter()
        machine.wine(
            other.python, "-c", f"import sys; sys.path.insert(0, {lent!r}); "
            "from pip._internal.cli.main import main; sys.exit(main(sys.argv[1:]))",
            "install", "--no-index", "--find-links", wheels, "triton-windows", timeout=600,
        ).check()  # fmt: skip
        pip = time.perf_counter() - start
        start = time.perf_counter()
        done = machine.tool(
            "fix", "--offline", "--yes", "--json-lines", "--find-links", wheels,
            "--python", bare.python, timeout=600,
        )  # fmt: skip
        fix = time.perf_counter() - start
    events = [json.loads(line) for line in done.stdout.splitlines()]
    if events[-1]["outcome"]["status"] != "proven":
        sys.exit(f"fix did not prove it: {done.stdout[-2000:]}{done.stderr}")
    print(f"pip alone {pip:.2f} s, fix {fix:.2f} s: " + ", ".join(profile(events)), flush=True)
    return pip, fix


def profile(events: list[dict[str, Any]]) -> list[str]:
    lines = [f"{e['seconds']:.1f} {e['event']} {e.get('text', '')[:40]}".rstrip() for e in events]
    rungs = [f"{r['id']} {r['seconds']:.1f}" for r in events[-1]["outcome"]["proof"]]
    return [*lines, *rungs]

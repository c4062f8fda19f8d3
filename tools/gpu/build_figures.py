#!/usr/bin/env python3
"""The figures of a build as JSON: times in seconds, memory in GiB; called by `tools/gpu/build.sh`.

build_figures.py FOLDER_OF_THE_BUILD SECONDS_OF_THE_WHOLE_COMMAND
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

GIB = 2**30


def summary(root: Path, whole: float) -> dict[str, Any]:
    plan, runs = (json.loads((root / f"{n}.json").read_text("utf-8")) for n in ("plan", "state"))
    logs = (log.read_text("utf-8").splitlines()[1:] for log in (root / "s").rglob(".ninja_log"))
    rows = (line.split("\t") for lines in logs for line in lines)
    files = {Path(r[3]).name: round((int(r[1]) - int(r[0])) / 1000, 1) for r in rows}
    cores = len(os.sched_getaffinity(0))
    wall = sum(run["seconds"] for run in runs)
    cpu = sum(files.values())  # a compiler has one thread
    peak = max(run["peak_memory"] for run in runs) / GIB
    return {
        "whole": whole,
        "cores": cores,
        "plan": {k: plan[k] for k in ("jobs", "seconds", "memory")},
        "runs": runs,
        "wall": round(wall, 1),
        "cpu": round(cpu, 1),
        "wall_by_ideal": round(wall * cores / cpu, 3) if cpu else None,
        "peak_gib": round(peak, 2),
        "peak_by_expected": round(peak * GIB / plan["memory"]["expected"], 3),
        # with one job: the sum of the files' times in this build
        "one_job_by_wall": round(sum(files.values()) / wall, 2) if wall else None,
        "files": files,
    }


if __name__ == "__main__":
    print(json.dumps(summary(Path(sys.argv[1]), float(sys.argv[2])), indent=1))

#!/usr/bin/env python3
"""Fill docs/build-h100.md with what tools/gpu/build_flash_attn.py measured.

    python tools/build_docs.py               from benchmarks/results/flash-attn-build.json
    python tools/build_docs.py --take DIR    make that first, of what `finish` wrote into DIR

Nothing measured is typed by hand: a table stands between `<!-- generated: NAME -->` and
`<!-- end -->`, and a test fails when it is not what the results say.
"""

from __future__ import annotations

import argparse
import heapq
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import generated

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from figures import Figure  # noqa: E402

from tritonwin.build import estimate, memory  # noqa: E402
from tritonwin.build.heavy_first import reordered  # noqa: E402
from tritonwin.build.memory import Resources  # noqa: E402
from tritonwin.build.model import GIB  # noqa: E402
from tritonwin.build.recipe import load  # noqa: E402
from tritonwin.output.building import duration  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "flash-attn-build.json"
PAGE = ROOT / "docs" / "build-h100.md"
KINDS = {
    "split-KV": "flash_fwd_split_", "backward": "flash_bwd_", "forward": "flash_fwd_",
    "the binding": "flash_api",
}  # fmt: skip
Json = dict[str, Any]


def taken(folder: Path) -> Json:
    """What is kept of a build: no paths, and nothing twice."""
    summary, build, verify = (
        json.loads((folder / f"{name}.json").read_text("utf-8"))
        for name in ("summary", "build", "verify")
    )
    info, phases = build["info"], summary["phases"]
    plan = info["plan"]
    return {
        "when": verify["when"][:10],
        "machine": {k: verify["machine"][k] for k in ("GPU", "driver", "Python", "torch")},
        "cores": summary["machine"]["cores"],
        "compilers": {name: info["versions"][name] for name in ("cuda", "c++", "ninja")},
        "wheel": {k: info[k] for k in ("wheel", "size", "sha256", "archs", "inputs")},
        "plan": {k: plan[k] for k in ("jobs", "nvcc_threads", "seconds", "memory")},
        "runs": [{k: run[k] for k in run if k != "offset"} for run in summary["runs"]],
        "files": summary["files"],
        "whole": round(phases["built"] - phases["began"], 1),
        "proof": info["proof"],
        "rungs": [
            {k: rung[k] for k in ("id", "state", "seconds", "detail", "figures")}
            for rung in verify["rungs"]
        ],
    }


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def wall(found: Json) -> float:
    return sum(float(run["seconds"]) for run in found["runs"])


def cpu(found: Json) -> float:
    return sum(float(run["cpu_seconds"]) for run in found["runs"])


def peak(found: Json) -> int:
    return max(int(run["peak_memory"]) for run in found["runs"])


def _ratio(what: str, value: float, goal: float, *, least: bool = False) -> Figure:
    return Figure(what=what, where="", value=value, goal=goal, least=least)


def machine(found: Json) -> str:
    wheel = found["wheel"]
    ((source, sha256),) = wheel["inputs"].items()
    rows = {
        **found["machine"],
        "cores": f"{found['cores']}",
        "compilers": ", ".join(f"{n} {v}" for n, v in found["compilers"].items()),
        "memory that was free": f"{found['plan']['memory']['free'] / GIB:.1f} GiB",
        "source": f"`{source}`, sha256 `{sha256[:16]}...`",
        "wheel": f"`{wheel['wheel']}`, {wheel['size'] / 1e6:.1f} MB, code for "
        + ", ".join(wheel["archs"]),
    }
    return f"{found['when']}, `tools/gpu/build_flash_attn.py`.\n\n" + table(("", ""), rows.items())


def runs(found: Json) -> str:
    rows = [
        (
            run["ending"], f"{run['jobs']}", f"{run['steps']} of {run['total']}",
            f"{run['seconds']:,.1f}", f"{run['cpu_seconds']:,.0f}",
            f"{run['peak_memory'] / GIB:.1f}",
        )
        for run in found["runs"]
    ]  # fmt: skip
    rest = found["whole"] - wall(found)
    words = (
        f"\nThe whole command, both starts of it, the build environment and the proof included: "
        f"{found['whole']:,.1f} s, so {rest:.1f} s more.\n"
    )
    return table(("run", "jobs", "steps", "s", "CPU s", "GiB at the peak"), rows) + words


def goals(found: Json) -> str:
    memory_of = found["plan"]["memory"]
    ideal = cpu(found) / found["cores"]
    by_expected = peak(found) / memory_of["expected"]
    one_job = sum(found["files"].values())
    figures = [
        _ratio("wall / (CPU / cores)", wall(found) / ideal, 1.15),
        _ratio("peak of memory / expected peak", by_expected, 1.15),
        _ratio("the same", by_expected, 0.85, least=True),
        _ratio("peak / upper bound", peak(found) / memory_of["bound"], 1.0),
        _ratio("one job, from the finished files / wall", one_job / wall(found), 8.0, least=True),
    ]
    rows = [(f.what, f.shown, f.aim, "met" if f.met else "**missed**") for f in figures]
    words = (
        f"\nWall {wall(found):,.1f} s, CPU {cpu(found):,.0f} s on {found['cores']} cores; peak "
        f"{peak(found) / GIB:.1f} GiB, expected {memory_of['expected'] / GIB:.1f}, bound "
        f"{memory_of['bound'] / GIB:.1f}; one job {one_job:,.0f} s.\n"
    )
    return table(("ratio", "measured", "goal", ""), rows) + words


def kind(file: str) -> str:
    return next(name for name, word in KINDS.items() if word in file)


def kinds(found: Json) -> str:
    rows = []
    for name in KINDS:
        seconds = [s for file, s in found["files"].items() if kind(file) == name]
        each = (min(seconds), statistics.fmean(seconds), max(seconds), sum(seconds))
        rows.append((name, f"{len(seconds)}", *(f"{figure:,.0f}" for figure in each)))
    return table(("files", "number", "s, least", "s, mean", "s, most", "s, all"), rows)


def makespan(files: dict[str, float], order: Sequence[str], jobs: int) -> float:
    """Seconds until all are done, when each job takes the next file as soon as it is free."""
    free = [0.0] * jobs
    for file in order:
        heapq.heapreplace(free, free[0] + files[file])
    return max(free)


def order(found: Json) -> str:
    files, jobs = found["files"], found["plan"]["jobs"]
    lines = "".join(f"build {file}\n" for file in sorted(files))
    ours = [
        line.split()[1]
        for line in reordered(lines, load("flash-attn").start_first).split("\n")[:-1]
    ]
    rows = [
        ("ninja's own, by name", makespan(files, sorted(files), jobs)),
        ("the recipe's", makespan(files, ours, jobs)),
        ("none can be quicker", sum(files.values()) / jobs),
    ]
    return table(("order", "s"), ((name, f"{seconds:,.0f}") for name, seconds in rows))


def model(found: Json) -> str:
    """What the plan said of memory and time, and what the recipe would make it say today."""
    recipe, plan, files = load("flash-attn"), found["plan"], len(found["files"])
    free = plan["memory"]["free"]
    have = Resources(allocatable=free, physical=free, cores=found["cores"])
    now = memory.choose(recipe.memory, have, files=files, archs=1)
    seconds = estimate.seconds(
        recipe.work, 1, jobs=now.jobs, threads=now.threads, cores=have.cores, files=files
    )
    rows = [
        ("the plan", plan["memory"]["expected"], plan["seconds"]),
        ("measured", peak(found), found["whole"]),
        ("the plan with the recipe of today", now.memory.expected, seconds or 0),
    ]
    return table(
        ("", "GiB at the peak", "time"),
        ((name, f"{held / GIB:.1f}", duration(s)) for name, held, s in rows),
    )


def rungs(found: Json) -> str:
    rows = [
        (
            f"`{rung['id']}`", rung["state"], f"{rung['seconds']:.1f}", rung["detail"],
            largest_error(rung["figures"].values()),
        )
        for rung in found["rungs"]
    ]  # fmt: skip
    return table(("rung", "result", "s", "seen", "largest error"), rows)


def largest_error(figures: Iterable[float | str]) -> str:
    known = list(figures)
    numbers = [figure for figure in known if isinstance(figure, float)]
    words = sorted({figure for figure in known if isinstance(figure, str)})
    return ", ".join([f"{max(numbers):.3g}", *words])


def proof(found: Json) -> str:
    steps = ((name, how) for name, how in found["proof"].items() if ":" in how)
    return table(("step", "result"), steps)


TABLES: dict[str, Callable[[Json], str]] = {
    "machine": machine, "goals": goals, "runs": runs, "model": model, "kinds": kinds,
    "order": order, "proof": proof, "rungs": rungs,
}  # fmt: skip


def filled(page: str, found: Json) -> str:
    """The page with every table as the results have it."""
    return generated.filled(page, {name: partial(write, found) for name, write in TABLES.items()})


def results() -> Json:
    found: Json = json.loads(RESULTS.read_text("utf-8"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--take", type=Path, metavar="DIR")
    options = parser.parse_args()
    if options.take:
        text = json.dumps(taken(options.take), indent=1) + "\n"
        RESULTS.write_text(text, encoding="utf-8", newline="\n")
    page = filled(PAGE.read_text("utf-8"), results())
    PAGE.write_text(page, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

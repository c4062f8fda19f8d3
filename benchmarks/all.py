#!/usr/bin/env python3
"""Measure every figure that has a goal.

    python benchmarks/all.py [--only PART] [--runs N] [--megabytes N] [--note TEXT]

The figures of a whole run go to results/cpu.json, from which the page on speed is written when the
site is built. Use a quiet machine. The exit status is 1 if a goal is missed.

Ratios are of two programs run in turn, so that what else the machine does hits both. `patch` is
measured in processor time: how long a start waits for a busy machine is no cost of ours.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "winlane")]

# ruff: noqa: E402 - the lane lies in folders that no installation adds
import build_pyz
import figures
from dev import TORCH
from explain_logs import PLANTED, failures, successes
from figures import LINUX, WINE, Figure
from winlane import Environment, Lane, Machine, standins
from winlane.packages import Packages
from winlane.resources import WHEELS
from winlane.upstream import Upstream

from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.install import generate
from tritonwin.patch.rules import RULES
from tritonwin.patch.session import of_folder
from tritonwin.problems import catalogue
from tritonwin.problems.explain import explain_file
from tritonwin.problems.explain.matches import Query

GREP = "/bin/grep"

Pairs = Iterable[tuple[float, float]]


def seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    action()
    return clock() - start


def in_turn(first: Callable[[], float], second: Callable[[], float], runs: int) -> Pairs:
    first(), second()  # file caches warm for both
    return [(first(), second()) for _ in range(runs)]


def ratio(
    what: str, where: str, goal: float, pairs: Pairs, unit: str = "s", fastest: bool = False
) -> Figure:
    """The ratio of the medians, or of the fastest: what else the machine does only adds."""
    columns = list(zip(*pairs, strict=True))
    one, other = (min(c) if fastest else statistics.median(c) for c in columns)
    how = f"{'fastest' if fastest else 'median'} of {len(columns[0])}"
    detail = f"{one:.3f} {unit} / {other:.3f} {unit}, {how}"
    return Figure(what=what, where=where, value=one / other, goal=goal, detail=detail)


def program(*command: str | Path, env: dict[str, str] | None = None) -> float:
    """The seconds of a program that may end with 0 or 1."""
    line = [str(c) for c in command]
    start = time.perf_counter()
    done = subprocess.run(line, capture_output=True, check=False, timeout=300, env=env)
    taken = time.perf_counter() - start
    if done.returncode not in {0, 1}:
        sys.exit(f"{command} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return taken


# -- explain, and redaction: MB/s of one core, memory, and that the planted problems were found


def explain(options: argparse.Namespace) -> Iterator[Figure]:
    anchors = {a for p in Query(catalogue.load()).patterns for a in p.anchors}
    with tempfile.TemporaryDirectory() as folder:
        log, literals = Path(folder, "log"), Path(folder, "literals")
        literals.write_text("\n".join(sorted(anchors)) + "\n")
        for name, goal, lines in (
            ("a build log of successes", 50, successes),
            ("nothing but tracebacks and compiler errors", 10, failures),
        ):
            yield redaction(name, "".join(lines(10_000_000)))
            with log.open("w", encoding="utf-8") as file:
                file.writelines(lines(options.megabytes << 20))
            yield throughput(name, goal, log, literals)
    # of this process alone, which held no log
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure(what="memory of `explain` on both", where=LINUX, value=peak, goal=150, unit="MB",
                 detail="peak of the process")  # fmt: skip


def redaction(name: str, log: str) -> Figure:
    redactor = Redactor(Identity(users=("alex",), homes=(r"C:\Users\alex",), hosts=("gpu-rig",)))
    taken = seconds(partial(redactor.text, log), time.process_time)
    return Figure(what=f"redaction of {name}", where=LINUX, value=taken, goal=3, unit="s",
                  detail=f"{len(log) / 1e6:.0f} MB")  # fmt: skip


def throughput(name: str, goal: float, log: Path, literals: Path) -> Figure:
    """The speed, and its ratio to `grep -F -f` looking for the same literals."""
    size = log.stat().st_size / 1e6
    start = time.process_time()
    problems = explain_file(log).problems
    taken = time.process_time() - start
    missed = PLANTED.keys() - {i for p in problems for i in (p.id, *p.explains)}
    if missed:
        sys.exit(f"{name}: planted and missed: {', '.join(sorted(missed))}")
    # it stops at the first match when its output goes nowhere: here it is captured
    grep = program(GREP, "-a", "-c", "-F", "-f", literals, log, env={"LC_ALL": "C"})
    return Figure(
        what=f"`explain` on {name}", where=LINUX, value=size / taken, goal=goal, unit="MB/s",
        least=True, detail=f"{size:.0f} MB, {taken / grep:.1f} x `grep -F -f`",
    )  # fmt: skip


# -- starts, beside `import torch`, `python -c pass`, and the installed tool


def startup(options: argparse.Namespace) -> Iterator[Figure]:
    TORCH.make()
    python, target, runs = sys.executable, TORCH.python, options.runs
    tool = partial(program, python, "-m", "tritonwin")
    doctor = "`doctor` / `import torch` of the examined Python"
    single = "`tritonwin.pyz --version` / `tritonwin --version`"
    yield ratio(
        "`tritonwin --version` / `python -c pass`", LINUX, 3,
        in_turn(lambda: tool("--version"), lambda: program(python, "-c", "pass"), 3 * runs),
    )  # fmt: skip
    examined = partial(program, target, "-c", "import torch")
    yield ratio(doctor, LINUX, 0.5,
                in_turn(lambda: tool("doctor", "--python", target), examined, runs))  # fmt: skip
    with Lane.ready() as lane, Machine(lane) as machine:
        machine.gpu()
        env = machine.environment("3.12", "full", [WHEELS["torch-cpu"], WHEELS["triton-3.5"]])
        pairs = in_turn(
            lambda: seconds(lambda: machine.tool("doctor", "--python", env.python)),
            lambda: seconds(lambda: env.run("-c", "import torch").check()),
            runs,
        )
    yield ratio(doctor, WINE, 0.5, pairs)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tritonwin.pyz")
        build_pyz.build(file)
        home = {**os.environ, "TRITONWIN_HOME": str(file.parent / "home")}
        home.pop("PYTHONDONTWRITEBYTECODE", None)  # the installed tool has been compiled before
        pairs = in_turn(
            lambda: program(python, file, "--version", env=home),
            lambda: tool("--version", env=home),
            3 * runs,
        )
        yield ratio(single, LINUX, 1.5, pairs)
        with Lane.ready() as lane, Machine(lane) as machine:
            machine.place(r"C:\tools\tritonwin.pyz", file)
            env = machine.environment("3.12", "bare")
            pairs = in_turn(
                lambda: seconds(lambda: env.run(r"C:\tools\tritonwin.pyz", "--version").check()),
                lambda: seconds(lambda: machine.tool("--version").check()),
                runs,
            )
        yield ratio(single, WINE, 1.5, pairs)


# -- fix of a bare embedded Python beside `pip install triton-windows` from the same folder


def fix(options: argparse.Namespace) -> Iterator[Figure]:
    with Lane.ready() as lane:
        pairs = [one_fix(lane) for _ in range(max(options.runs // 2, 1))]
    what = "`fix` of a bare embedded Python, proof included / pip alone"
    yield ratio(what, WINE, 1.25, pairs)


def one_fix(lane: Lane) -> tuple[float, float]:
    """Seconds of fix and of pip alone, each in a bare Python of its own; prints where they go."""
    folder = Packages(lane.cache).wheels("3.12", ("triton-3.8", "pip"))
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
        taken = time.perf_counter() - start
    events = [json.loads(line) for line in done.stdout.splitlines()]
    outcome = events[-1]["event"]["outcome"]
    if outcome["status"] != "proven":
        sys.exit(f"fix did not prove it: {done.stdout[-2000:]}{done.stderr}")
    told = [(line["seconds"], line["event"]) for line in events]
    steps = [f"{at:.1f} {e['event']} {e.get('text', '')[:40]}".rstrip() for at, e in told]
    rungs = [f"{rung['id']} {rung['seconds']:.1f}" for rung in outcome["proof"]]
    print(f"pip alone {pip:.2f} s, fix {taken:.2f} s: {', '.join([*steps, *rungs])}", flush=True)
    return taken, pip


# -- patch: upstream's sources on the fork's binaries in Windows Python


def patch(options: argparse.Namespace) -> Iterator[Figure]:
    overlay: Any = importlib.import_module("overlay")
    version, runs = overlay.VERSIONS["3.8.0"], options.runs

    def imported(made: Environment) -> float:
        # from the start of the process on, so that what the hook adds to it counts as well
        said = made.run("-c", "import time, triton; print(time.process_time())").check()
        return float(said.stdout)

    def launched(made: Environment) -> float:
        said = overlay.run(made, "launch_cost")["launch_cost"]
        if "error" in said:
            sys.exit(said["trace"])
        return float(said["ok"])

    with Lane.ready() as lane:
        package = Upstream(lane.cache).sources(version.upstream) / "triton"
        times = [seconds(of_folder(package).status, time.process_time) for _ in range(runs)]
        yield Figure(what="`patch status` of a folder", where=LINUX, goal=0.3, unit="s",
                     value=statistics.median(times), detail=f"median of {runs}")  # fmt: skip
        with Machine(lane) as machine:
            plain, hooked = overlay.overlay(machine, version), overlay.overlay(machine, version)
            for name, content in generate(RuleChoice(only=(), allow_unknown=False)).items():
                hooked.replace(hooked.site_packages / name, content)
            pairs = in_turn(lambda: imported(hooked), lambda: imported(plain), runs)
        what = "`import triton` with the patching hook / without"
        yield ratio(what, WINE, 1.10, pairs, fastest=True)
        with Machine(lane) as machine:
            fork, patched = overlay.fork(machine, version), overlay.overlay(machine, version)
            overlay.edit(patched, RULES)
            pairs = [(launched(patched), launched(fork)) for _ in range(max(runs // 3, 2))]
        what = "a launch by sources patched on disk / by triton-windows"
        yield ratio(what, WINE, 1.05, pairs, "us", fastest=True)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Figure]]] = {
    "explain": explain,  # first: it reports the most memory that this process ever had
    "startup": startup,
    "fix": fix,
    "patch": patch,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--note", default="", help="what else the machine does")
    options = parser.parse_args()
    found = []
    for part in [options.only] if options.only else PARTS:
        for figure in PARTS[part](options):
            print(figure, flush=True)
            found.append(figure)
    if not options.only:
        figures.save(found, options.runs, options.note)
    return figures.all_met(found)


if __name__ == "__main__":
    sys.exit(main())

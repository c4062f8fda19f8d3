"""Speed and memory of `explain`, and the speed of redaction.

States MB/s of one core on two logs (successes; nothing but errors), the peak memory, that the
planted problems were found, and the ratio to `grep -F -f` looking for the same literals.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from explain_logs import PLANTED, failures, successes
from figures import LINUX, Figure, tell

from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.problems import catalogue
from tritonwin.problems.explain import explain_file
from tritonwin.problems.explain.matches import Query

GREP = "/bin/grep"


def measure(megabytes: int) -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        literals = Path(folder, "literals")
        patterns = Query(catalogue.load()).patterns
        literals.write_text("\n".join(sorted({a for p in patterns for a in p.anchors})) + "\n")
        for name, goal, lines in (
            ("a build log of successes", 50, successes),
            ("nothing but tracebacks and compiler errors", 10, failures),
        ):
            figures.append(redaction(name, "".join(lines(10_000_000))))
            log = Path(folder, "log")
            with log.open("w", encoding="utf-8") as file:
                file.writelines(lines(megabytes << 20))
            figures.append(report(name, goal, log, literals))
    # of this process alone, which held no log
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.append(tell(Figure(what="memory of `explain` on both", where=LINUX, value=peak,
                               goal=150, unit="MB", detail="peak of the process")))  # fmt: skip
    return figures


def report(name: str, goal: float, log: Path, literals: Path) -> Figure:
    size = log.stat().st_size / 1e6
    started = time.process_time()
    problems = explain_file(log).problems
    seconds = time.process_time() - started
    found = {i for p in problems for i in (p.id, *p.explains)}
    missed = sorted(PLANTED.keys() - found)
    if missed:
        sys.exit(f"{name}: planted and missed: {', '.join(missed)}")
    return tell(Figure(
        what=f"`explain` on {name}", where=LINUX, value=size / seconds, goal=goal, unit="MB/s",
        least=True, detail=f"{size:.0f} MB, {seconds / grep(log, literals):.1f} x `grep -F -f`",
    ))  # fmt: skip


def redaction(name: str, log: str) -> Figure:
    redactor = Redactor(Identity(users=("alex",), homes=(r"C:\Users\alex",), hosts=("gpu-rig",)))
    started = time.process_time()
    redactor.text(log)
    return tell(Figure(
        what=f"redaction of {name}", where=LINUX, value=time.process_time() - started, goal=3,
        unit="s", detail=f"{len(log) / 1e6:.0f} MB",
    ))  # fmt: skip


def grep(log: Path, literals: Path) -> float:
    """Seconds that grep takes to find the lines with one of the literals."""
    started = time.perf_counter()
    subprocess.run(
        [GREP, "-a", "-c", "-F", "-f", str(literals), str(log)],
        check=False,
        stdout=subprocess.PIPE,  # grep stops at the first match when its output goes nowhere
        timeout=600,
        env={"LC_ALL": "C"},
    )
    return time.perf_counter() - started

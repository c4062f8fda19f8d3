"""How fast `explain` reads, and in how much memory: `python benchmarks/explain.py [MEGABYTES]`.

States MB/s of one core on two logs (successes; nothing but errors), the peak memory, that the
planted problems were found, and the ratio to `grep -F -f` looking for the same literals.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from explain_logs import PLANTED, failures, successes

from tritonwin.problems import catalogue
from tritonwin.problems.explain import explain_file
from tritonwin.problems.explain.hits import Collector

GREP = "/bin/grep"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("megabytes", type=int, nargs="?", default=100)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        literals = Path(folder, "literals")
        patterns = Collector(catalogue.load().entries.values()).patterns
        literals.write_text("\n".join(sorted({a for p in patterns for a in p.anchors})) + "\n")
        for name, lines in (("successes", successes), ("failures", failures)):
            log = Path(folder, name)
            with log.open("w", encoding="utf-8") as file:
                file.writelines(lines(megabytes << 20))
            report(name, log, literals)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory: {peak:.0f} MB")


def report(name: str, log: Path, literals: Path) -> None:
    size = log.stat().st_size / 1e6
    started = time.process_time()
    problems = explain_file(log).problems
    seconds = time.process_time() - started
    found = {i for p in problems for i in (p.id, *p.explains)}
    missed = sorted(PLANTED.keys() - found)
    ratio = seconds / grep(log, literals)
    print(
        f"{name}: {size:.0f} MB in {seconds:.2f} s, {size / seconds:.0f} MB/s, "
        f"{ratio:.1f} x grep -F -f; planted and missed: {', '.join(missed) or 'none'}"
    )


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


if __name__ == "__main__":
    main()

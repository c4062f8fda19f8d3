#!/usr/bin/env python3
"""Build FlashAttention or SageAttention with `tritonwin build` on a GPU machine, and measure it.

    python3 tools/gpu/build_from_source.py PACKAGE [--out DIR] [-- OPTIONS OF build]

Sources and requirements are in .gpu/build, tritonwin's dependencies in .gpu/site (both by
tools/gpu/fetch.py). flash-attn takes 20 minutes on 16 cores. Shortly after the start the build is
interrupted once, as by Ctrl-C, and resumed; then the wheel's rungs are tried. DIR gets
summary.json, build.json, verify.json, verify.md and log.gz.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fetch import FLASH_ATTN, SAGE_FILE  # type: ignore[import-not-found]

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "src"), str(CHECKOUT / ".gpu/site")]

PROGRAM = f"""
import signal, sys
sys.path[:0] = {sys.path[:2]!r}
signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent may ignore it
from tritonwin.__main__ import main
sys.exit(main())
"""
# of the package: options of `build`, and the rungs that its wheel has to pass
PACKAGES = {
    "flash-attn": (
        ("--version", FLASH_ATTN),
        ("flash-attn", "flash-attn-backward", "flash-attn-varlen", "transformers-flash"),
    ),
    "sageattention": (("--source", f".gpu/build/{SAGE_FILE}"), ("sageattention",)),
}
BUILD = (
    "--find-links", ".gpu/build", "--offline", "--anyway", "--yes", "--json",
    "--python", sys.executable,
)  # fmt: skip
GIB = 2**30


def run(package: str, out: Path, interrupt_after: float, options: Sequence[str]) -> int:
    """Build, interrupt once, resume, verify, and write the figures."""
    work = out / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    of_package, rungs = PACKAGES[package]
    words = ["build", package, *of_package, *BUILD, "--root", str(work), *options]
    began = time.time()
    code = build(out, work, words, interrupt_after)
    if code == 130:  # the status after Ctrl-C
        code = build(out, work, [*words, "--resume"], None)
    built = time.time()
    root = next((plan.parent for plan in work.glob(f"{package}-*/plan.json")), None)
    if root is None:
        return code
    if code == 0:
        only = [word for rung in rungs for word in ("--only", rung)]
        report = ["--report", str(out / "verify.md"), "--json"]
        verify = ["verify", "--python", str(root / "p/bin/python"), *only, *report]
        with (out / "verify.json").open("wb") as stream:
            subprocess.run(_command(verify), stdout=stream, env=_env(work), check=False)
    summary = {"whole": round(built - began, 1), **summarise(root)}
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    with gzip.open(out / "log.gz", "wb") as packed:
        for log in sorted(root.glob("build-*.log")):
            packed.write(log.read_bytes())
    print(json.dumps({k: v for k, v in summary.items() if k != "files"}, indent=1))
    return code


def build(out: Path, work: Path, words: Sequence[str], interrupt_after: float | None) -> int:
    with (out / "build.json").open("wb") as stream:
        process = subprocess.Popen(_command(words), stdout=stream, env=_env(work), cwd=CHECKOUT)
        while process.poll() is None:
            time.sleep(0.2)
            runs = [run for state in work.glob("*/state.json") for run in _json(state)["runs"]]
            if interrupt_after is not None and runs and runs[-1]["seconds"] >= interrupt_after:
                process.send_signal(signal.SIGINT)
                interrupt_after = None
    return process.returncode


def _command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *words]


def _env(work: Path) -> dict[str, str]:
    return {**os.environ, "TRITONWIN_HOME": str(work / "home"), "TRITONWIN_DEBUG": "1"}


def _json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def summarise(root: Path) -> dict[str, Any]:
    """The figures of a build. Times in seconds, memory in GiB."""
    rows = (
        line.split("\t")
        for log in (root / "s").rglob(".ninja_log")
        for line in log.read_text("utf-8").splitlines()[1:]
    )
    files = {Path(r[3]).name: round((int(r[1]) - int(r[0])) / 1000, 1) for r in rows}
    runs, plan = _json(root / "state.json")["runs"], _json(root / "plan.json")
    cores = len(os.sched_getaffinity(0))
    wall = sum(run["seconds"] for run in runs)
    cpu = sum(run["cpu_seconds"] or 0 for run in runs)
    peak = max(run["peak_memory"] for run in runs) / GIB
    return {
        "cores": cores,
        "plan": {k: plan[k] for k in ("jobs", "nvcc_threads", "seconds", "memory")},
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("package", choices=list(PACKAGES))
    parser.add_argument("--interrupt-after", type=float, default=40.0, metavar="S")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "out")))
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args, options = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1 :]
    return run(args.package, args.out.resolve(), args.interrupt_after, options)


if __name__ == "__main__":
    sys.exit(main())

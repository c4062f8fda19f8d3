#!/usr/bin/env python3
"""The byte-spectral encoder against the floor, PyTorch and an embedding: ratios, in one run.

    python benchmarks/bench.py --out bench.json          about a minute and a half on one GPU
    python benchmarks/bench.py --device cpu --tiny       a rehearsal; its figures mean nothing

Kernels are timed in CUDA graphs whose outputs rotate over 1.5 GB and were filled with NaN before;
what is compared is timed in turn, several rounds, in one process. Ends with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import torch
from bench_parts.clock import Clock
from bench_parts.end_to_end import end_to_end
from bench_parts.gradients import backward, errors
from bench_parts.record import Bench, by_line
from bench_parts.speed import (
    against_pytorch,
    against_the_floor,
    ceilings,
    fused_linear,
    host_time,
    long_windows,
    naive_without_host,
)
from corpus import corpus

SCHEMA = "byte-spectral.bench/1"
SECTIONS: dict[str, Callable[[Bench], None]] = {
    "errors": errors,
    "floor": against_the_floor,
    "linear": fused_linear,
    "windows": long_windows,
    "host": host_time,
    "pytorch": against_pytorch,
    "backward": backward,
    "end-to-end": end_to_end,
    "naive": naive_without_host,
    "ceilings": ceilings,
}


def document(bench: Bench, failed: dict[str, str], seconds: dict[str, float]) -> dict[str, Any]:
    on_gpu = bench.clock.on_gpu
    versions = {"torch": torch.__version__}
    if on_gpu:
        import triton

        versions["triton"] = triton.__version__
    return {
        "schema": SCHEMA,
        "device": torch.cuda.get_device_name() if on_gpu else "CPU (a rehearsal)",
        "when": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        **versions,
        "cases": bench.cases,
        "goals": bench.goals,
        "failed": failed,
        "seconds": seconds,
    }


def show(found: dict[str, Any]) -> None:
    print(f"{found['device']}, torch {found['torch']}, triton {found.get('triton', 'absent')}")
    for each in found["cases"]:
        shape = "x".join(map(str, each["shape"]))
        print(f"  {each['section']:10} {each['what']:28} {shape:16} {each['us']:12.2f} us")
    for each in found["goals"]:
        sign, state = ">=" if each["least"] else "<=", "met" if each["met"] else "MISSED"
        figures = f"{each['value']:.4g} {sign} {each['limit']:g}"
        print(f"must {each['must']}: {each['what']}: {figures} {state}")
    for section, error in found["failed"].items():
        print(f"FAILED {section}: {error}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to rehearse")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin no section later"
    )
    parser.add_argument(
        "--corpus", type=Path, metavar="DIR", help="its archive: errors on text too"
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--again", action="store_true", help="only what failed, as --out says")
    options = parser.parse_args()
    bench = Bench(
        clock=Clock(device=torch.device(options.device)),
        tiny=options.tiny,
        text=corpus(options.corpus).train if options.corpus else b"",
    )
    wanted = options.only
    if options.again:
        before = json.loads(options.out.read_text(encoding="utf-8"))
        wanted = list(before["failed"])
        bench.cases.extend(each for each in before["cases"] if each["section"] not in wanted)
        bench.goals.extend(each for each in before["goals"] if each["section"] not in wanted)
    failed = measure(bench, wanted, options.seconds, options.out)
    if failed:
        return 3
    return 0 if all(each["met"] for each in bench.goals) else 1


def measure(bench: Bench, wanted: list[str], limit: float, out: Path | None) -> dict[str, str]:
    """Run the sections and keep `out` up to date; returns what failed, and why."""
    failed: dict[str, str] = {}
    seconds: dict[str, float] = {}
    begin = time.perf_counter()
    for name in wanted:
        since = time.perf_counter()
        bench.section = name
        if since - begin > limit:
            failed[name] = "not run, out of time"
        elif any("CUDA error" in each for each in failed.values()):
            failed[name] = "not run: the device's state was lost"
        else:
            try:
                SECTIONS[name](bench)
            except Exception as error:  # noqa: BLE001 - the other sections are worth their time
                traceback.print_exc()
                failed[name] = f"{type(error).__name__}: {error}"[:300]
        seconds[name] = round(time.perf_counter() - since, 1)
        found = document(bench, failed, seconds)
        if out:
            out.write_text(by_line(found), encoding="utf-8")
    show(found)
    return failed


if __name__ == "__main__":
    sys.exit(main())

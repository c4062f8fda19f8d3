"""A summary of Nsight Compute's counters: the load of each part of the chip."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any

SCHEMA = "byte-spectral.counters/1"
SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats", "ComputeWorkloadAnalysis")
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum")
BETWEEN = "spin_kernel"  # a kernel of this name stands before those of every case

# Percentages of what the unit can do, each by the first pattern that a column's name matches; which
# metrics a section holds differs between versions of the profiler.
SHARES = {
    "tensor": (
        r"sm__pipe_tensor_cycles_active\.avg\.pct_of_peak_sustained_elapsed",
        r"sm__(inst_executed_)?pipe_tensor\w*\.avg\.pct_of_peak_sustained_\w+",
    ),
    "transcendental": (
        r"sm__inst_executed_pipe_xu\w*\.avg\.pct_of_peak_sustained_elapsed",
        r"sm__inst_executed_pipe_xu\w*\.avg\.pct_of_peak_sustained_\w+",
    ),
    "issue": (
        r"sm__inst_issued\.avg\.pct_of_peak_sustained_active",
        r"sm(sp)?__issue_active\.avg\.pct_of_peak_sustained_\w+",
        r"sm__instruction_throughput\.avg\.pct_of_peak_sustained_\w+",
    ),
    "l1": (r"l1tex__throughput\.avg\.pct_of_peak_sustained_\w+",),
    "l2": (r"lts__throughput\.avg\.pct_of_peak_sustained_elapsed",),
    "dram": (r"(gpu__)?dram_*throughput\.avg\.pct_of_peak_sustained_elapsed",),
    "occupancy": (r"sm__warps_active\.avg\.pct_of_peak_sustained_active",),
}
COUNTS = {
    "registers": (r"launch__registers_per_thread",),
    "waves": (r"launch__waves_per_multiprocessor",),
    "dram_bytes_read": (r"dram__bytes_read\.sum",),
    "dram_bytes_written": (r"dram__bytes_write\.sum",),
    "l2_bytes": (r"lts__t_bytes\.sum",),
}
NANOSECONDS = {"nsecond": 1.0, "ns": 1.0, "usecond": 1e3, "us": 1e3, "second": 1e9, "s": 1e9}
_STALL = re.compile(
    r"smsp__average_warps_issue_stalled_(\w+?)(?:_per_issue_active)?(?:_not_issued)?\.ratio"
)


def rows(log: str) -> list[dict[str, str]]:
    """The kernels of `ncu --csv --page raw`, with other lines before; "unit NAME" keeps units.

    Raises:
        ValueError: there is no such table.
    """
    lines = log.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise ValueError(
            f"no table of the profiler: {' '.join(log.split())[-300:] or 'it said nothing'}"
        )
    head, units, *found = csv.reader(line for line in lines[start:] if line.startswith('"'))
    named = dict(zip(head, units, strict=True))
    return [{f"unit {k}": u for k, u in named.items()} | dict(zip(head, row, strict=True))
            for row in found]  # fmt: skip


def number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def first(row: dict[str, str], patterns: Iterable[str]) -> float | None:
    """The first figure whose column matches; the largest of those that match the same pattern."""
    for pattern in patterns:
        found = [number(row[name]) for name in row if re.fullmatch(pattern, name)]
        figures = [each for each in found if each is not None]
        if figures:
            return max(figures)
    return None


def kernel(row: dict[str, str]) -> dict[str, Any]:
    """One kernel: microseconds, shares in percent, counts, and what its warps wait for most."""
    time = "gpu__time_duration.sum"
    taken = number(row.get(time, ""))
    unit = NANOSECONDS.get(row.get(f"unit {time}", "nsecond"), 1.0)
    shared = [first(row, (rf"launch__shared_mem_per_block_{kind}",)) or 0
              for kind in ("static", "dynamic")]  # fmt: skip
    scale = 1024 if "K" in row.get("unit launch__shared_mem_per_block_dynamic", "") else 1
    waits: dict[str, float] = {}
    for name, value in row.items():
        match = _STALL.fullmatch(name)
        if match and match[1] != "selected" and "not_issued" not in name:  # which is no wait
            waits[match[1]] = number(value) or 0.0
    most = sorted(waits.items(), key=lambda pair: -pair[1])[:3]
    return {
        "kernel": re.sub(r"[<(].*", "", row["Kernel Name"]).split("::")[-1].strip(),
        "us": None if taken is None else round(taken * unit / 1e3, 2),
        **{name: first(row, patterns) for name, patterns in (SHARES | COUNTS).items()},
        "shared_bytes": int(sum(shared) * scale),
        "waits": {name: round(value, 2) for name, value in most if value > 0},
    }


def by_case(names: list[str], found: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Every kernel with the case that launched it.

    Raises:
        ValueError: there are not as many cases as marks between them.
    """
    made: list[dict[str, Any]] = []
    at = -1
    for row in found:
        if BETWEEN in row["Kernel Name"]:
            at += 1
        elif 0 <= at < len(names):
            made.append({"case": names[at], **kernel(row)})
    if at + 1 != len(names):
        raise ValueError(f"{at + 1} of {len(names)} cases were profiled")
    return made

"""A page in Markdown of what a run showed; docs/gpu.md has the sums of it.

    python tests/gpu/winlane/table.py RESULTS

RESULTS is the folder that the documents of run.py were collected in.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEAD = """\
# Real Windows Triton on a real GPU

**What this is:** Windows user space under Wine on a Linux driver. Windows CPython and the Windows
builds of Triton, run through a relay to Linux' `libcuda.so.1` (`tests/gpu/winlane`). Triton's
compiler, its C module, the launches and the numbers are real. The driver, its DLL search and WDDM
are not Windows', and no CUDA build of torch runs on this, so memory goes through the driver.

"Not tried here" are rungs that need torch or a package, which these trees do not have.
`device-print` cannot be shown so: the kernel runs, but the driver of Linux prints to Linux' standard
output, which no Windows program reads; since the run of 3.8 the rung says so. `code` is a checksum
of the machine code, to be held against another Triton's. The H100 was busy with a build on all cores
while 3.8 ran, so its launch takes longer than on a quiet machine; the H200s were quiet.
"""
_TRIED = ("passed", "failed", "crashed", "timed-out", "skipped")


def page(results: Path) -> Iterator[str]:
    yield HEAD
    for path in sorted(results.glob("summary-*.json")):
        name = path.stem.removeprefix("summary-")
        summary = json.loads(path.read_text("utf-8"))
        yield f"## {summary['what'].partition(':')[0]}\n"
        if summary["rehearsal"]:
            yield "**A rehearsal without a GPU: nothing was computed.**\n"
        yield from _ladder(results / f"ladder-{name}.json")
        yield from _bench(results / f"bench-{name}.json")
        yield from _twin(results, name)
        yield from _encoder(summary["steps"].get("encoder", {}))


def _ladder(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    document = json.loads(path.read_text("utf-8"))
    rungs = document.get("rungs", [])
    facts = ", ".join(f"{k}: {v}" for k, v in document.get("machine", {}).items())
    yield f"{facts}; {document.get('when') or ''}\n"
    yield "| rung | result | seconds | what was seen |\n| --- | --- | --- | --- |"
    for rung in rungs:
        if rung["state"] in _TRIED:
            seen = rung["detail"].replace("|", "\\|").replace("\n", " ")
            seen = re.sub(r"C:\\users\\\w+", "%USERPROFILE%", seen)
            yield f"| {rung['id']} | {rung['state']} | {rung['seconds']:.1f} | {seen} |"
    others = [rung["id"] for rung in rungs if rung["state"] not in _TRIED]
    yield f"\nNot tried here: {', '.join(others)}.\n"


def _bench(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    benchmark = json.loads(path.read_text("utf-8")).get("benchmark")
    if benchmark is None:
        return
    yield "| figure | value |\n| --- | --- |"
    for part in benchmark["parts"]:
        for name, value in part["figures"].items():
            yield f"| {part['id']} {name} | {value} |"
    yield ""


def _twin(results: Path, name: str) -> Iterator[str]:
    """Held against the Linux Triton, from the two documents of the one run."""
    windows = _figures(results / f"bench-{name}.json")
    for label, words in {"torch": "its torch", "standin": "the stand-in for torch"}.items():
        linux = _figures(results / f"bench-linux-{label}-{name}.json")
        if not linux:
            continue
        yield (
            "The same kernels with the Linux Triton of the same version on the same card in the "
            f"same run, with {words}:\n"
        )
        yield "| | Windows | Linux | Windows / Linux |\n| --- | --- | --- | --- |"
        for figure in ("launch_us", "add_us", "matmul_us"):
            ours, theirs = float(windows[figure]), float(linux[figure])
            yield f"| {figure} | {ours} | {theirs} | {ours / theirs:.3f} |"
        yield ""


def _figures(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    parts = json.loads(path.read_text("utf-8"))["parts"]
    return {name: value for part in parts for name, value in part["figures"].items()}


def _encoder(step: dict[str, Any]) -> Iterator[str]:
    cases = step.get("cases")
    if not cases:
        return
    yield "Byte-spectral kernels against the float64 reference:\n"
    yield "| case | relative error | allowed | microseconds |\n| --- | --- | --- | --- |"
    for name, row in cases.items():
        yield f"| {name} | {row['error']:.1e} | {row['allowed']:.0e} | {row['us']} |"
    yield ""


if __name__ == "__main__":
    print("\n".join(page(Path(sys.argv[1]))).rstrip())

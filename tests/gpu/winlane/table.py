"""The page of what was shown, docs/verify-windows-h100.md.

    python tests/gpu/winlane/table.py RESULTS > docs/verify-windows-h100.md

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
        yield from _twin(summary["steps"].get("twin", {}))
        yield from _spectral(summary["steps"].get("spectral", {}))


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


def _twin(step: dict[str, Any]) -> Iterator[str]:
    labels = {"torch": "with its torch", "standin": "with the stand-in for torch"}
    for label, words in labels.items():
        ratios = step.get(f"windows/{label}")
        if ratios is None:
            continue
        yield f"Windows / Linux Triton of the same version on the same card in one run, {words}:\n"
        yield "| figure | Windows / Linux |\n| --- | --- |"
        for name, ratio in ratios.items():
            yield f"| {name} | {'same' if ratio is True else ratio or 'differs'} |"
        yield ""


def _spectral(step: dict[str, Any]) -> Iterator[str]:
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

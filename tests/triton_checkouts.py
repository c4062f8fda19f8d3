"""Checkouts of Triton as far as the planner of builds reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tritonwin.build.order import BuildMachine, Order, read_checkout
from tritonwin.build.plan import BuildPlan
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load

SHA = "04089e40" + "0" * 56
COMMIT = "46111560" + "a" * 32
TOOLS = {"ptxas": "12.9.86", "ptxas-blackwell": "13.3.33"}


def source(folder: Path, version: str = "3.8.0", *, old: bool = False, below: str = "") -> Path:
    """A checkout as far as the planner reads it."""
    (folder / "cmake").mkdir(parents=True)
    (folder / below).mkdir(exist_ok=True)
    (folder / below / "setup.py").write_text(f'TRITON_VERSION = "{version}" + suffix()\n')
    (folder / "cmake" / "json-version.txt").write_text("v3.11.3")
    (folder / "cmake" / "nvidia-toolchain-version.json").write_text(json.dumps(TOOLS))
    if old:
        (folder / "cmake" / "llvm-hash.txt").write_text(f"{COMMIT}\n")
    else:
        info = {"llvm_hash": COMMIT, "build_number": 1, "sha256sum": {"windows-x64": SHA}}
        (folder / "cmake" / "llvm-info.json").write_text(json.dumps(info))
    return folder


def planned(order: Order, machine: BuildMachine, folder: Path | None = None) -> BuildPlan:
    found = read_checkout(folder, load("triton"), windows=machine.host.windows) if folder else None
    order = replace(order, source=str(folder)) if folder else order
    return plan(order, replace(machine, checkout=found))

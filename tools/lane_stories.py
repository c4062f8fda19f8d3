"""Record the demo's snapshots: a ComfyUI-like Python under Wine with a fault of faults.py."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winlane import Environment, Lane, Machine

from tritonwin.system import toml

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "winlane"))
faults: Any = importlib.import_module("faults")


@dataclass(frozen=True)
class Plot:
    """A fault by its problem and the words of its evidence (see faults.py)."""

    file: str
    title: str
    problem: str = ""
    names: str = ""
    card: str = "NVIDIA GeForce RTX 4090"


PLOTS = tuple(
    Plot(**row)
    for row in toml.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["plot"]
)


def stage(machine: Machine, plot: Plot) -> Environment:
    """A ComfyUI to which the harm was done."""
    machine.home("Ada")
    all_ = (*faults.FAULTS, faults.Fault(""))
    wanted = (plot.problem, plot.names)
    known = next(each for each in all_ if (each.problem, each.names) == wanted)
    fault = replace(known, kind="comfyui", where=r"C:\AI")
    seed = faults.prepare(machine, fault)
    machine.gpu(fault.gpu, name=plot.card)
    seed.sow(fault.seed)
    made: Environment = seed.env
    return made


def record(machine: Machine, plot: Plot) -> Path:
    """Have tritonwin in Windows Python write a snapshot of it."""
    env = stage(machine, plot)
    machine.tool("snapshot", "-o", r"C:\story.json", "--python", env.python, cwd="C:\\").check()
    return env.path(r"C:\story.json")


def main() -> None:
    """Record the snapshots that the package ships."""
    folder = ROOT / "src/tritonwin/demo/snapshots"
    with Lane.ready() as lane:
        for plot in PLOTS:
            with Machine(lane) as machine:
                shutil.copyfile(record(machine, plot), folder / plot.file)
            print(plot.file)
    index = [{"file": p.file, "title": p.title, "expects": p.problem} for p in PLOTS]
    (folder / "index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

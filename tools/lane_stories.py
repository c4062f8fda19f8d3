"""The demo's stories told live: real Windows Pythons under Wine, each broken in one way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from winlane import Environment, Lane, Machine, standins
from winlane.cache import copy_tree
from winlane.resources import WHEELS

from tritonwin.demo.story import HEALTHY, Story
from tritonwin.facts import snapshot


@dataclass(frozen=True)
class Plot:
    """A fault in a ComfyUI-like Python 3.12 with torch (a stand-in) and triton-windows."""

    file: str
    title: str
    expects: str
    harm: Callable[[Machine, Environment], object]
    gpu: str = "8.9"
    card: str = "NVIDIA GeForce RTX 4090"
    triton: str = "triton-3.8"
    torch: tuple[str, str] = ("2.14.1", "13.0")


def _nothing(machine: Machine, env: Environment) -> None:
    del machine, env


def _no_headers(machine: Machine, env: Environment) -> None:
    del machine
    for folder in ("Include", "libs"):
        shutil.rmtree(env.home / folder)


def _upstream_too(machine: Machine, env: Environment) -> None:
    del machine
    line = "libs = subprocess.check_output(['/sbin/ldconfig', '-p']).decode(errors='ignore')\n"
    files = {"triton/backends/nvidia/driver.py": line}
    standins.distribution(env, "triton", "3.8.0", files=files)


def _cc_list(machine: Machine, env: Environment) -> None:
    del env
    machine.variables["CC"] = r"C:\Program Files\LLVM\bin\clang.exe;"


PLOTS = (
    Plot("healthy.json", "nothing is wrong", HEALTHY, _nothing),
    Plot(
        "no-headers.json",
        "an embedded Python as it is shipped, without headers",
        "embedded-python-no-headers",
        _no_headers,
    ),
    Plot(
        "both-tritons.json",
        "pip install triton over triton-windows",
        "triton-and-fork-both-installed",
        _upstream_too,
    ),
    Plot(
        "wrong-pair.json",
        "torch 2.9 beside Triton 3.8",
        "triton-too-new-for-torch",
        _nothing,
        torch=("2.9.1", "12.8"),
    ),
    Plot(
        "blackwell.json",
        "an RTX 5090 with the Triton of 2024",
        "gpu-generation-unsupported",
        _nothing,
        gpu="12.0",
        card="NVIDIA GeForce RTX 5090",
        triton="triton-3.2",
        torch=("2.6.0", "12.4"),
    ),
    Plot("cc-list.json", "CC holds a list", "cc-variable-wrong", _cc_list),
)


@contextmanager
def live() -> Iterator[Iterator[Story]]:
    """The stories, read one after the other while the lane is up.

    Raises:
        LaneUnavailable: this machine cannot run it.
    """
    with Lane.ready() as lane:
        yield (_told(lane, plot) for plot in PLOTS)


def _told(lane: Lane, plot: Plot) -> Story:
    with Machine(lane) as machine:
        file = record(machine, plot)
        return Story(plot.title, plot.expects, snapshot.read(file))


def stage(machine: Machine, plot: Plot) -> Environment:
    """A ComfyUI to which the harm was done."""
    machine.home("Ada")
    env = machine.environment("3.12", "comfyui", [WHEELS[plot.triton]], where=r"C:\AI")
    full = machine.environment("3.12", "full")
    for folder in ("Include", "libs"):
        copy_tree(full.home / folder, env.home / folder)
    standins.cuda_torch(env, machine.fakes, *plot.torch)
    machine.gpu(plot.gpu, name=plot.card)
    plot.harm(machine, env)
    return env


def record(machine: Machine, plot: Plot) -> Path:
    """Have tritonwin in Windows Python write a snapshot of it."""
    env = stage(machine, plot)
    machine.tool("snapshot", "-o", r"C:\story.json", "--python", env.python, cwd="C:\\").check()
    return env.path(r"C:\story.json")


def main() -> None:
    """Record the snapshots that the package ships."""
    folder = Path(__file__).resolve().parent.parent / "src/tritonwin/demo/snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    with Lane.ready() as lane:
        for plot in PLOTS:
            with Machine(lane) as machine:
                shutil.copyfile(record(machine, plot), folder / plot.file)
            print(plot.file)
    index = [{"file": p.file, "title": p.title, "expects": p.expects} for p in PLOTS]
    (folder / "index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Triton's driver module in Python beside the compiled one, on this machine's NVIDIA GPU.

Skipped without a GPU or without .gpu/driver, which `tools/gpu/fetch.py driver` makes. Each program
of `programs` prints one line a case: error types and texts, results, calls of hooks.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent / "programs"
ON = Path(__file__).resolve().parents[2] / ".gpu" / "driver" / "on"
WAYS = ("compiled", "python")

try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    pytest.skip("no NVIDIA driver is here", allow_module_level=True)
if not ON.exists():
    pytest.skip("no .gpu/driver", allow_module_level=True)


def environment(way: str, folder: Path) -> dict[str, str]:
    """Variables of a process that is "compiled" or "python"; the latter can compile nothing."""
    variables = {**os.environ, "TRITON_CACHE_DIR": str(folder / way)}
    if way == "python":
        path = os.pathsep.join([str(ON), os.environ.get("PYTHONPATH", "")])
        variables |= {"CC": "false", "PYTHONPATH": path}
    return variables


def said(way: str, folder: Path, program: str, *words: str | Path) -> list[str]:
    """The lines of a program, and its status."""
    done = subprocess.run(
        [sys.executable, PROGRAMS / f"{program}.py", *words], cwd=folder, timeout=100,
        env=environment(way, folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(done.stderr[-1500:])
    return [*done.stdout.splitlines(), f"ended with {done.returncode}"]


def images(folder: Path) -> list[Path]:
    """Cubins of memory.ptx: a kernel that needs 17 GB at its launch, a module with 1 GB of data."""
    package = Path(importlib.import_module("triton").__file__ or "").parent
    made = []
    for name, space, size in (("deep", "local", 2**16), ("large", "global", 2**30)):
        text = (PROGRAMS / "memory.ptx").read_text().replace("NAME", name).replace("SPACE", space)
        for place in ("local", "global"):
            memory = f".{space} .align 16 .b8 memory[{size}];" if place == space else ""
            text = text.replace(place.upper(), memory)
        source, cubin = folder / f"{name}.ptx", folder / f"{name}.cubin"
        source.write_text(text)
        ptxas = package / "backends/nvidia/bin/ptxas"
        subprocess.run([ptxas, "-arch=sm_90", source, "-o", cubin], check=True, timeout=60)
        made.append(cubin)
    return made


@pytest.mark.parametrize("words", ["errors values", "errors memory", "errors lost", "hooks"])
def test_both_say_the_same(words: str, tmp_path: Path) -> None:
    more = images(tmp_path) if words == "errors memory" else []
    compiled, python = (said(way, tmp_path, *words.split(), *more) for way in WAYS)
    assert python == compiled
    assert len(python) > 3


def test_a_process_that_is_killed_among_launches_harms_no_other(tmp_path: Path) -> None:
    for way in WAYS:
        with subprocess.Popen(
            [sys.executable, PROGRAMS / "errors.py", "forever"], env=environment(way, tmp_path),
            stdout=subprocess.PIPE,
        ) as running:  # fmt: skip
            for _, _ in zip(range(1000), running.stdout or (), strict=False):
                pass
            running.kill()
    compiled, python = (said(way, tmp_path, "errors", "values") for way in WAYS)
    assert python == compiled


def test_a_million_launches_take_no_memory(tmp_path: Path) -> None:
    found = json.loads(said("python", tmp_path, "many")[0])
    assert found["sum"] == 1_000_001
    assert found["threads"] == [2000]
    assert found["device"] == 0
    # a byte a launch would be 800 KiB
    assert found["kib"][-1] - found["kib"][1] < 400, found["kib"]

"""The model of a build against a build that was measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import figures
import pytest

import tritonwin
from tritonwin.build import jobs
from tritonwin.build.jobs import Resources
from tritonwin.build.recipe import load
from tritonwin.build.records import Notes


def test_the_recipe_of_flash_attn_expects_what_was_measured() -> None:
    """Its peak of memory and its time, within 15 %, on the H100 of docs/gpu.md."""
    file = Path(figures.__file__).parent / "results" / "flash-attn-build.json"
    found = json.loads(file.read_text("utf-8"))
    recipe, files = load("flash-attn"), len(found["files"])
    free = found["plan"]["memory"]["free"]
    have = Resources(allocatable=free, physical=free, cores=found["cores"])
    chosen, memory = jobs.choose(recipe.memory, have, Notes(), files=files)
    seconds = jobs.seconds(recipe.work, 1, jobs=chosen, cores=have.cores, files=files)
    peak = max(run["peak_memory"] for run in found["runs"])
    assert memory.expected == pytest.approx(peak, rel=0.15)
    assert seconds == pytest.approx(found["whole"], rel=0.15)


def test_doctor_on_a_snapshot_takes_few_calls() -> None:
    """Shipped data is not validated again at every start."""
    script = Path(__file__).parents[2] / "benchmarks" / "own_calls.py"
    snapshot = Path(tritonwin.__file__).parent / "demo" / "snapshots" / "wrong-pair.json"
    command = (sys.executable, str(script), "doctor", "--snapshot", str(snapshot))
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    calls = int(done.stdout.split()[0])
    assert 1_000 < calls <= 10_000, done.stdout

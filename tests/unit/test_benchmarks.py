"""Figures and their goals; the model of a build against a build that was measured."""

from __future__ import annotations

import json
from pathlib import Path

import figures
import pytest
from figures import Figure

from tritonwin.build import jobs
from tritonwin.build.jobs import Resources
from tritonwin.build.recipe import load


def figure(value: float, **more: object) -> Figure:
    return Figure(what="a / b", where="here", value=value, goal=1.5, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("measured", "met", "shown"),
    [
        (figure(1.5), True, "1.5"),
        (figure(1.501), False, "1.501"),
        (figure(1.5, least=True), True, "1.5"),
        (figure(1.4999, least=True, unit="s"), False, "1.4999 s"),
        (figure(0.39123), True, "0.391"),
        (figure(58.04, least=True, unit="MB/s"), True, "58 MB/s"),
    ],
)
def test_a_figure_shows_on_which_side_of_its_goal_it_lies(
    measured: Figure, met: bool, shown: str
) -> None:
    assert measured.met is met
    assert measured.shown == shown
    assert figures.all_met([measured]) == int(not met)


def test_the_recipe_of_flash_attn_expects_what_was_measured() -> None:
    """Its peak of memory and its time, within 15 %, on the H100 of docs/build-h100.md."""
    file = Path(figures.__file__).parent / "results" / "flash-attn-build.json"
    found = json.loads(file.read_text("utf-8"))
    recipe, files = load("flash-attn"), len(found["files"])
    free = found["plan"]["memory"]["free"]
    have = Resources(allocatable=free, physical=free, cores=found["cores"])
    now = jobs.choose(recipe.memory, have, files=files, archs=1).value
    seconds = jobs.seconds(
        recipe.work, 1, jobs=now.jobs, threads=now.threads, cores=have.cores, files=files
    )
    peak = max(run["peak_memory"] for run in found["runs"])
    assert now.memory.expected == pytest.approx(peak, rel=0.15)
    assert seconds == pytest.approx(found["whole"], rel=0.15)

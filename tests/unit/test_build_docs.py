"""The page about the build on an H100 is what was measured, and the recipe agrees with it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import build_docs
import pytest

FOUND = build_docs.results()


def test_the_page_is_what_the_results_say() -> None:
    page = build_docs.PAGE.read_text("utf-8")
    assert build_docs.filled(page, FOUND) == page, "run: python tools/build_docs.py"
    shown = [line for line in page.splitlines() if line.startswith("<!-- generated: ")]
    assert shown == [f"<!-- generated: {name} -->" for name in build_docs.TABLES]


@pytest.mark.parametrize(
    ("change", "name", "row"),
    [
        ({}, "goals", "| one job, from the finished files / wall | 14.7 | at least 8 | met |"),
        ({"cores": 32}, "goals", "| wall / (CPU / cores) | 2.17 | at most 1.15 | **missed** |"),
        ({}, "order", "| the recipe's | 1,168 |"),
        ({"whole": 1300.0}, "runs", ": 1,300.0 s, so 95.1 s more."),
        ({}, "kinds", "| the binding | 1 | 42 | 42 | 42 | 42 |"),
        ({}, "model", "| measured | 70.4 | 21 min |"),
        ({}, "rungs", "right | 0.00116, not a number |"),
    ],
)
def test_a_table_follows_the_figures(change: dict[str, Any], name: str, row: str) -> None:
    text = build_docs.filled(f"<!-- generated: {name} -->\nold\n<!-- end -->", {**FOUND, **change})
    assert row in text
    assert "old" not in text


@pytest.mark.parametrize(
    ("order", "jobs", "seconds"), [("abc", 1, 10), ("abc", 2, 7), ("cab", 2, 5), ("abc", 9, 5)]
)
def test_the_next_file_goes_to_the_first_job_that_is_free(
    order: str, jobs: int, seconds: float
) -> None:
    assert build_docs.makespan({"a": 3.0, "b": 2.0, "c": 5.0}, order, jobs) == seconds


def test_the_recipe_expects_what_was_measured() -> None:
    """With the figures of today's recipe, within 15 % of the peak and of the time."""
    rows = build_docs.model(FOUND).splitlines()
    measured, today = ([word.strip() for word in row.split("|")[2:4]] for row in rows[3:5])
    assert float(today[0]) == pytest.approx(float(measured[0]), rel=0.15)
    assert float(today[1].split()[0]) == pytest.approx(float(measured[1].split()[0]), rel=0.15)


def test_what_is_kept_names_no_place_of_the_machine(tmp_path: Path) -> None:
    plan = {
        **FOUND["plan"], "root": "/tmp/place", "target": "/opt/place/python",
        "source": {"location": "/tmp/place"},
    }  # fmt: skip
    wheel = FOUND["wheel"]
    info = {**wheel, "plan": plan, "proof": FOUND["proof"], "versions": FOUND["compilers"]}
    verify = {
        "when": f"{FOUND['when']}T06:02:58+00:00",
        "machine": {**FOUND["machine"], "system": "linux of a host"},
        "target": {"executable": "/tmp/place/python"},
        "rungs": [{**rung, "traceback": None} for rung in FOUND["rungs"]],
    }
    summary = {
        "machine": {"cores": FOUND["cores"], "cpu": "a processor"},
        "phases": {"began": 1000.0, "built": 1000.0 + FOUND["whole"]},
        "runs": [{**run, "offset": 57} for run in FOUND["runs"]],
        "files": FOUND["files"],
    }
    documents = {"summary": summary, "build": {"log": "/tmp/place", "info": info}, "verify": verify}
    for name, document in copy.deepcopy(documents).items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    assert build_docs.taken(tmp_path) == FOUND

"""tools/mutate.py: what is chosen, and what it says of the whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mutate
import mutation_record
import pytest


@pytest.mark.parametrize("pattern", [p for area in mutate.AREAS.values() for p in area.code])
def test_no_area_has_lost_its_code(pattern: str) -> None:
    assert [*(mutate.ROOT / "src" / "tritonwin").glob(pattern)]


@pytest.mark.parametrize("pattern", [p for area in mutate.AREAS.values() for p in area.tests])
def test_no_area_has_lost_its_tests(pattern: str) -> None:
    assert [*(mutate.ROOT / "tests").glob(pattern)]


def test_a_sample_is_spread_over_all_modules() -> None:
    names = [f"{module}{number}" for module in "abcde" for number in range(20)]
    found = mutate.chosen(names, 25, seed=3)
    assert [sum(name[0] == module for name in found) for module in "abcde"] == [5] * 5
    assert found == mutate.chosen(names, 25, seed=3)
    assert found != mutate.chosen(names, 25, seed=5)


@pytest.mark.parametrize("sample", [0, 3, 4])
def test_all_are_taken_where_no_fewer_are_asked_for(sample: int) -> None:
    assert mutate.chosen(["a", "b", "c"], sample, seed=1) == ["a", "b", "c"]


def test_the_interval_of_a_share() -> None:
    """Wilson's, as in any table: 85 of 100."""
    assert mutation_record.interval(85, 100) == pytest.approx((0.767, 0.907), abs=0.001)
    assert mutation_record.interval(10, 10)[1] == pytest.approx(1)


ABOUT = {name: area.about for name, area in mutate.AREAS.items()}
RUN = mutation_record.Run(
    area="patch", mutants=2061, tried=100, noticed=85, seed=1, date="2026-11-28", commit="6ce7c02"
)


def test_the_table_is_that_of_the_record() -> None:
    page = mutation_record.PAGE.read_text("utf-8")
    assert mutation_record.filled(page, ABOUT, mutation_record.read()) == page, (
        "run: python tools/mutation_record.py"
    )
    assert "| area | changes | tried |" in page


def test_every_area_was_measured() -> None:
    assert {run.area for run in mutation_record.read()} == set(mutate.AREAS)


def test_runs_are_kept_once_in_their_order(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    later = replace(RUN, seed=2)
    for runs in ([RUN], [RUN, later]):
        mutation_record.add(runs, record)
    assert mutation_record.read(record) == (RUN, later)
    page = "a\n<!-- generated: mutation -->\n\nold\n\n<!-- end -->\nb\n<!-- end -->"
    lines = mutation_record.filled(page, {"patch": "rules"}, (RUN,)).split("\n")
    assert lines[0] == "a"
    assert lines[5:] == [
        "| `patch`: rules | 2,061 | 100 | 1 | 6ce7c02, 2026-11-28 | 85 (85.0%) | 76.7% to 90.7% |",
        "",
        "<!-- end -->",
        "b",
        "<!-- end -->",
    ]

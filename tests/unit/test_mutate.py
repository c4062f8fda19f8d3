"""tools/mutate.py: what is chosen, and what it says of the whole."""

from __future__ import annotations

import mutate
import pytest
from branch_coverage import Area


@pytest.mark.parametrize("area", mutate.AREAS.values(), ids=list(mutate.AREAS))
def test_no_area_has_lost_its_code(area: Area) -> None:
    assert area.files() > {*area.apart}


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
    assert mutate.interval(85, 100) == pytest.approx((0.767, 0.907), abs=0.001)
    assert mutate.interval(10, 10)[1] == pytest.approx(1)

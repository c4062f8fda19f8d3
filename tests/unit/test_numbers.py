"""Numbers on the command line: those that click would take, and compute capabilities."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.cli.options import Arch


@pytest.mark.parametrize(
    ("text", "number"),
    [("89", 89), ("8.9", 89), ("sm_120", 120), ("SM89", 89), ("compute_100", 100), ("12.0", 120)],
)
def test_a_compute_capability_as_it_is_copied(text: str, number: int) -> None:
    assert Arch().convert(text, None, None) == number


@pytest.mark.parametrize(
    "text", ["9", "4.9", "8", "sm_8", "9.0a", "1000", "8,9", "ada", "", "nan", "\u0663", "-5"]
)
def test_what_is_no_compute_capability(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"such as 89, 8\.9 or sm_89"):
        Arch().convert(text, None, None)


@given(st.text(max_size=20) | st.floats().map(str) | st.integers().map(str))
def test_nothing_else_comes_out(text: str) -> None:
    try:
        assert 50 <= Arch().convert(text, None, None) <= 999
    except click.BadParameter:
        pass

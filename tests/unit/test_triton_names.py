"""The pairs that an error which names a part of Triton allows."""

from __future__ import annotations

import pytest
from cases import cases

from tritonwin.problems.explain.pair import lacking_series, names
from tritonwin.support import matrix


@pytest.mark.parametrize(("line", "stops", "goes_on"), cases("lines.toml", "pairs"))
def test_an_error_bounds_torch_and_triton(line: str, stops: list[str], goes_on: list[str]) -> None:
    pairs = {
        f"{torch} {triton}" for torch, those in lacking_series(line).items() for triton in those
    }
    assert pairs.issuperset(stops)
    assert pairs.isdisjoint(goes_on)


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: cannot import name 'jit' from 'triton' (unknown location)",
        "ModuleNotFoundError: No module named 'triton'",
        "AttributeError: 'NoneType' object has no attribute 'cluster_dims'",
        "ImportError: cannot import name 'AttrsDescriptor' from 'somewhere.else'",
        "ModuleNotFoundError: No module named 'triton.ops'",  # no torch asks for it
    ],
)
def test_other_errors_say_nothing_of_the_pair(line: str) -> None:
    assert lacking_series(line) == {}


def test_a_pair_that_belongs_together_stops_at_no_import() -> None:
    for pair in matrix.load().pairs:
        for name, row in (names().names | names().modules).items():
            if any(
                pair.torch in torch.split() and pair.triton in triton.split()
                for torch, triton in row.items()
            ):
                # read behind a check that the analysis does not follow, and never by default
                assert "descriptor" in name or "tensormap" in name, (pair, name)

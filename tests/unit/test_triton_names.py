"""The pairs that an error which names a part of Triton allows."""

from __future__ import annotations

import pytest

from tritonwin.problems.explain.pair import lacking_series, names
from tritonwin.support import matrix

# Error, series of Triton that cannot print it, pairs that print it, pairs that do not.
CASES = [
    (
        "ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler' (C:\\x.py)",
        {("2.8", "3.5"), ("2.5", "3.6"), ("2.4", "3.8")},
        {("2.8", "3.4"), ("2.9", "3.5"), ("2.10", "3.8")},
    ),
    (
        "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler'",
        {("2.6", "3.3"), ("2.6", "3.8")},
        {("2.6", "3.2"), ("2.7", "3.4")},
    ),
    (
        "AttributeError: 'KernelMetadata' object has no attribute 'cluster_dims'",
        {("2.9", "3.6"), ("2.8", "3.7")},
        {("2.9", "3.5"), ("2.10", "3.6")},
    ),
    (
        "AttributeError: type object 'CompiledKernel' has no attribute 'launch_enter_hook'",
        {("2.7", "3.4"), ("2.6", "3.5")},
        {("2.7", "3.3"), ("2.6", "3.2")},
    ),
    ("ModuleNotFoundError: No module named 'triton.common.backend'", {("2.3", "3.1")}, {("2.4", "3.1")}),
    (
        "    attr_desc_fields = {f.name for f in fields(AttrsDescriptor)}",
        {("2.5", "3.2")},
        {("2.5", "3.1"), ("2.6", "3.2")},
    ),
    (
        "TypeError: do_bench() got an unexpected keyword argument 'fast_flush'",
        {("2.5", "3.2")},
        {("2.6", "3.2"), ("2.5", "3.1")},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("line", "stops", "goes_on"), CASES, ids=[c[0][:70] for c in CASES])
def test_an_error_bounds_torch_and_triton(
    line: str, stops: set[tuple[str, str]], goes_on: set[tuple[str, str]]
) -> None:
    pairs = {
        (torch, triton) for torch, lacking in lacking_series(line).items() for triton in lacking
    }
    assert stops <= pairs
    assert not goes_on & pairs


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

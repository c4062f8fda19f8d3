"""What an error that names a part of Triton says about the pair."""

from __future__ import annotations

import pytest

from tritonwin.support import matrix, triton_names
from tritonwin.support.triton_names import missing_name

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
    found = missing_name(line)
    assert found
    pairs = {(torch, triton) for torch, series in found.pairs.items() for triton in series}
    assert stops <= pairs
    assert not goes_on & pairs
    assert {triton for _, triton in pairs} <= set(
        found.triton
    ) or found.name in triton_names.load().dataclasses


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: cannot import name 'jit' from 'triton' (unknown location)",
        "ModuleNotFoundError: No module named 'triton'",
        "AttributeError: 'NoneType' object has no attribute 'cluster_dims'",
        "ImportError: cannot import name 'AttrsDescriptor' from 'somewhere.else'",
    ],
)
def test_what_every_triton_has_says_nothing_of_its_version(line: str) -> None:
    assert missing_name(line) is None


def test_what_no_torch_wants_bounds_triton_alone() -> None:
    found = missing_name("ModuleNotFoundError: No module named 'triton.ops'")
    assert found
    assert not found.pairs
    assert "3.2" in found.triton
    assert "3.1" not in found.triton


def test_a_pair_that_belongs_together_stops_at_no_import() -> None:
    table = triton_names.load()
    for pair in matrix.load().pairs:
        for name, row in (table.names | table.modules).items():
            stops = {
                triton
                for torch, series in row.fails.items()
                if pair.torch in triton_names.series(torch, table.torch)
                for triton in triton_names.series(series, table.triton)
            }
            if pair.triton in stops:
                # read behind a check that the analysis does not follow, and never by default
                assert "descriptor" in name or "tensormap" in name, (pair, name)

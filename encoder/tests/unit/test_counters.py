"""The profiler's table becomes a small one, by case."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_parts import counters

# what Nsight Compute said on an H200 of three cases, without most of its 724 columns
LOG = (Path(__file__).parent / "ncu-h200.csv").read_text("utf-8")
NAMES = ["fast bf16, W=64", "embedding lookup", "backward of taps"]


def test_kernels_are_told_apart_by_case() -> None:
    found = counters.by_case(NAMES, counters.rows(LOG))
    assert [(each["case"], each["kernel"]) for each in found] == [
        (NAMES[0], "encode"), (NAMES[1], "vectorized_gather_kernel"),
        (NAMES[2], "pack"), (NAMES[2], "gradient"), (NAMES[2], "total"),
    ]  # fmt: skip
    encode, _, _, gradient, _ = found
    assert (encode["us"], encode["registers"], encode["shared_bytes"]) == (8.9, 110, 65568)
    assert (encode["tensor"], encode["l2"], encode["dram"]) == (25.14, 40.22, 0.31)
    assert encode["waits"] == {"barrier": 2.94, "long_scoreboard": 1.61, "wait": 1.51}
    assert (gradient["us"], gradient["dram_bytes_read"]) == (39.52, 33749504)
    assert all(value is not None for each in found for value in each.values())


@pytest.mark.parametrize("share", counters.SHARES)
def test_a_share_is_one_of_a_whole(share: str) -> None:
    found = counters.by_case(NAMES, counters.rows(LOG))
    assert all(0 <= each[share] <= 100 for each in found)
    assert any(each[share] > 1 for each in found)


def test_a_column_that_another_version_lacks_is_none() -> None:
    without = LOG.replace("pipe_xu", "pipe_other")
    found = counters.by_case(NAMES, counters.rows(without))
    assert {each["transcendental"] for each in found} == {None}


def test_a_warp_that_is_working_does_not_wait() -> None:
    assert "stalled_selected_" in LOG
    assert all("selected" not in each["waits"] for each in
               counters.by_case(NAMES, counters.rows(LOG)))  # fmt: skip


def test_a_case_that_is_missing_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 of 4 cases"):
        counters.by_case([*NAMES, "one more"], counters.rows(LOG))


def test_what_the_profiler_said_instead_of_a_table_is_shown() -> None:
    with pytest.raises(ValueError, match="ERR_NVGPUCTRPERM"):
        counters.rows("==ERROR== ERR_NVGPUCTRPERM\n")

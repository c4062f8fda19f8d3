"""The profiler's table becomes a small one, by case."""

from __future__ import annotations

import csv
import io

import pytest
from spectral_parts import counters

# columns as `ncu --csv --page raw --print-units base` of Nsight Compute 2025 names them
UNITS = {
    "ID": "", "Kernel Name": "", "gpu__time_duration.sum": "ns",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "launch__registers_per_thread": "register/thread",
    "launch__shared_mem_per_block_dynamic": "byte/block",
    "launch__shared_mem_per_block_static": "byte/block",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active": "%",
    "sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active": "%",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "%",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": "inst",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": "inst",
    "smsp__average_warps_issue_stalled_wait_not_issued_per_issue_active.ratio": "inst",
}  # fmt: skip
SPIN = ["spin_kernel(long)", "1,000", "0", "8", "0", "0", "0", "0", "0", "1", "0", "0", "0"]
FIRST = ["encode", "13,056", "31.5", "116", "65,568", "0", "44", "21.5", "0", "12.5", "0.5", "4.25",
         "9"]  # fmt: skip
SECOND = ["void at::native::total<float>(float*)", "900", "n/a", "40", "0", "1,024", "2", "0", "0",
          "50", "0", "0", "0"]  # fmt: skip


def log(*kernels: list[str]) -> str:
    text = io.StringIO()
    text.write("==PROF== Connected to process 7\n==PROF== Profiling\n")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([list(UNITS), list(UNITS.values())])
    writer.writerows([str(i), *each] for i, each in enumerate(kernels))
    return text.getvalue() + "==PROF== Disconnected\n"


def test_kernels_are_told_apart_by_case() -> None:
    found = counters.by_case(["one", "two"], counters.rows(log(SPIN, FIRST, SPIN, SECOND, FIRST)))
    assert [(each["case"], each["kernel"]) for each in found] == [
        ("one", "encode"), ("two", "total"), ("two", "encode"),
    ]  # fmt: skip
    encode, total, _ = found
    assert (encode["us"], encode["registers"], encode["shared_bytes"]) == (13.06, 116, 65568)
    assert (encode["tensor"], encode["l2"], encode["dram"]) == (21.5, 44, 31.5)
    assert encode["waits"] == {"long_scoreboard": 4.25, "barrier": 0.5}
    assert encode["transcendental"] is None  # this version has no such column
    assert (total["dram"], total["shared_bytes"], total["waits"]) == (None, 1024, {})


def test_a_case_that_is_missing_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 of 2 cases"):
        counters.by_case(["one", "two"], counters.rows(log(SPIN, FIRST)))


def test_what_the_profiler_said_instead_of_a_table_is_shown() -> None:
    with pytest.raises(ValueError, match="ERR_NVGPUCTRPERM"):
        counters.rows("==ERROR== ERR_NVGPUCTRPERM\n")

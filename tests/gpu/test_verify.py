"""The ladder on this machine's GPU, and the faults of tools/gpu/verify.py; skipped without one."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from gpu import verify


@pytest.fixture(scope="module", autouse=True)
def _gpu() -> None:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pytest.skip("no NVIDIA driver is here")
    pytest.importorskip("triton", reason="this Python has no Triton")


def test_the_ladder_holds(tmp_path: Path) -> None:
    document, said = verify.verify(variables={}, seconds=600, home=tmp_path)
    assert document, said
    broken = {r["id"]: r["detail"] for r in document["rungs"] if r["state"] in verify.BROKEN}
    assert broken == {}
    passed = {r["id"] for r in document["rungs"] if r["state"] == "passed"}
    assert {"vector-add", "dot-fp16", "atomics"} <= passed


@pytest.mark.parametrize("fault", verify.FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_named_by_its_rung(fault: verify.Fault) -> None:
    judged = verify.judge(fault)
    assert judged["right"], judged

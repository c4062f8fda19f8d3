"""Which torch an extension loads into."""

from __future__ import annotations

import pytest

from tritonwin.support import torch_abi
from tritonwin.support.wheel_names import read_local


@pytest.mark.parametrize(
    ("local", "torch", "cuda", "reason"),
    [
        ("cu128torch2.8.0", "2.8.1+cu126", "12.6", None),
        ("cu128torch280", "2.9.1+cu128", "12.8", "needs torch 2.8, this is torch 2.9"),
        ("cu130torch2.9.0andhigher.post4", "2.12.0", "13.2", None),
        ("cu130torch2.10.0andhigher", "2.9.1", "13.0", "needs torch 2.10 or later, this is torch 2.9"),
        ("cu130torch2.9.0andhigher", "2.9.1", "12.8", "needs CUDA 13, this torch is built for CUDA 12"),
        ("cu12torch2.9", "2.9.1+cu130", "13.0", "needs CUDA 12, this torch is built for CUDA 13"),
        ("cu128torch2.8.0", "2.8.0+cpu", None, None),  # cpu-only-torch says it
        ("0ccb2bb6", "2.8.0", "12.8", None),
        ("", "nonsense", None, None),
    ],
)  # fmt: skip
def test_misfit(local: str, torch: str, cuda: str | None, reason: str | None) -> None:
    assert torch_abi.misfit(read_local(local), torch, cuda) == reason

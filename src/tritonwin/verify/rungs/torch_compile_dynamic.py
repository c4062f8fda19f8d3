"""Compile once for sizes that change, and see that it was once."""

from __future__ import annotations

import torch
from compare import Judge, cubins, seed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

LENGTHS = (37, 64, 129, 700, 5)


def step(x: Tensor) -> Tensor:
    return torch.nn.functional.silu(x).softmax(dim=-1) / (1 + x.square().sum(-1, keepdim=True))


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    from torch._dynamo.utils import counters

    seed()
    compiled = torch.compile(step, dynamic=True)
    judge = Judge()
    for length in LENGTHS:
        x = torch.randn(length, 80, device="cuda")
        judge.as_right_as(f"length {length}", compiled(x), step(x), step(x.double()), factor=4)
    graphs = counters["stats"]["unique_graphs"]
    if graphs != 1:
        msg = f"{len(LENGTHS)} sizes were compiled {graphs} times"
        raise AssertionError(msg)
    kernels = cubins(arguments["scratch"])
    return judge.verdict(f"{len(LENGTHS)} sizes with one graph, {kernels} Triton kernels")

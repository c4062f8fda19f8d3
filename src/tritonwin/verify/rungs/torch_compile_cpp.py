"""Compile a function for the CPU, for which inductor writes C++."""

from __future__ import annotations

import glob
import os

import torch
import torch._inductor.config
from compare import Judge, seed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def step(x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x).softmax(dim=-1) * x.sum(-1, keepdim=True)


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    seed()
    # what newer releases do except on Windows nearly doubles the time of a single kernel
    if hasattr(torch._inductor.config, "cpp_cache_precompile_headers"):
        torch._inductor.config.cpp_cache_precompile_headers = False
    x = torch.randn(65, 130)
    judge = Judge()
    found = torch.compile(step)(x)
    judge.as_right_as("output", found, step(x), step(x.double()), factor=4)
    folder = os.path.join(arguments["scratch"], "inductor")
    sources = glob.glob(os.path.join(folder, "**", "*.cpp"), recursive=True)
    if not sources:
        msg = "inductor wrote no C++"
        raise AssertionError(msg)
    return judge.verdict(f"{len(sources)} C++ sources compiled, the result is right")

"""Compile a function for the CPU, for which inductor writes C++.

Before its first kernel inductor finds out which vector instructions processor, compiler and torch
have in common: for each kind it compiles programs and loads them in a Python of its own, which
imports torch, before torch 2.13 on every system. On a server that can be ten programs.
"""

from __future__ import annotations

import glob
import os
import time
from typing import Any

import torch
import torch._inductor.config
from compare import Judge, seed
from probe_runner import doing


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x).softmax(dim=-1) * x.sum(-1, keepdim=True)


def vector_instructions() -> str:
    """Those that inductor will use: "avx512 amx_tile". It remembers what it found."""
    try:
        from torch._inductor.cpu_vec_isa import pick_vec_isa
    except ImportError:  # before torch 2.5
        from torch._inductor.codecache import pick_vec_isa
    doing("inductor compiles and loads programs to find out the vector instructions")
    found = pick_vec_isa()
    return str(found) if found else "none"


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    seed()
    # what newer releases do except on Windows nearly doubles the time of a single kernel
    if hasattr(torch._inductor.config, "cpp_cache_precompile_headers"):
        torch._inductor.config.cpp_cache_precompile_headers = False
    x = torch.randn(65, 130)
    judge = Judge()
    start = time.perf_counter()
    vector = vector_instructions()
    begun = time.perf_counter()
    doing("inductor writes C++ and compiles it")
    found = torch.compile(step)(x)
    end = time.perf_counter()
    judge.as_right_as("output", found, step(x), step(x.double()), factor=4)
    folder = os.path.join(arguments["scratch"], "inductor")
    sources = glob.glob(os.path.join(folder, "**", "*.cpp"), recursive=True)
    if not sources:
        raise AssertionError("inductor wrote no C++")
    tried, compiled = round(begun - start, 1), round(end - begun, 1)
    judge.figures.update({"vector instructions, s": tried, "compiling, s": compiled})
    return judge.verdict(
        f"{len(sources)} C++ sources compiled, the result is right; {tried:g} s to find out the "
        f"vector instructions ({vector}), {compiled:g} s to compile"
    )

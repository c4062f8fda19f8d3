"""Triton beneath torch, a part each: autotuner, CUDA graphs, torch.compile."""

from __future__ import annotations

import copy
import glob
import os
from typing import Any

import torch
import triton
import triton.language as tl
from compare import Judge, cubins, seed

# -- autotune: three forms of a kernel are measured, one is kept

TUNED = 1_000_003


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (128, 512, 2048)],
    key=["n"],
)
@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def autotune() -> tuple[str, dict[str, Any]]:
    seed()
    x = torch.randn(TUNED, device="cuda")
    for _ in range(2):
        out = torch.full_like(x, float("nan"))
        scale[lambda meta: (triton.cdiv(TUNED, meta["BLOCK"]),)](x, out, TUNED)
        if not torch.equal(out, 2 * x):
            raise AssertionError(f"{int((out != 2 * x).sum())} of {TUNED} numbers are wrong")
    if len(scale.cache) != 1:
        raise AssertionError(f"one choice should have been kept, not {len(scale.cache)}")
    best = scale.best_config.kwargs["BLOCK"]
    return f"3 forms measured, BLOCK={best} kept", {"block": best}


# -- CUDA graphs: a launch is recorded and played again with other numbers

RECORDED = 10_007
LANES = 256
REPLAYS = 5


@triton.jit
def accumulate(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(out_ptr + offsets, mask=mask) + tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def launch(x: torch.Tensor, out: torch.Tensor) -> None:
    accumulate[(triton.cdiv(RECORDED, LANES),)](x, out, RECORDED, BLOCK=LANES)


def cuda_graphs() -> str:
    x = torch.zeros(RECORDED, device="cuda")
    out = torch.zeros(RECORDED, device="cuda")
    launch(x, out)  # compiled outside of the graph
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, out)
    out.zero_()
    for n in range(REPLAYS):
        x.fill_(2.0**n)
        graph.replay()
    wanted = float(2**REPLAYS - 1)
    if not bool((out == wanted).all()):
        raise AssertionError(
            f"{REPLAYS} replays should give {wanted}, they gave {out[:3].tolist()}"
        )
    return f"recorded once, played {REPLAYS} times with new numbers"


# -- torch.compile: results and gradients against float64, and one graph for sizes that change

LENGTHS = (37, 64, 129, 700, 5)


class Block(torch.nn.Module):
    """Norm, two layers, an activation and a softmax: what inductor fuses."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(96)
        self.up = torch.nn.Linear(96, 192)
        self.down = torch.nn.Linear(192, 96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.gelu(self.up(self.norm(x)))
        result: torch.Tensor = (x + self.down(hidden)).softmax(dim=-1) * 10
        return result


def run(module: torch.nn.Module, x: torch.Tensor, weight: torch.Tensor) -> dict[str, torch.Tensor]:
    """The output, and the gradients of a weighted sum of it."""
    x = x.detach().requires_grad_()
    out = module(x)
    (out * weight).sum().backward()
    gradients = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    return {"output": out.detach(), "x.grad": x.grad, **gradients}


def compiled(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    seed()
    eager = Block().cuda()
    x, weight = (torch.randn(33, 96, device="cuda") for _ in range(2))
    exact = run(copy.deepcopy(eager).double(), x.double(), weight.double())
    module = copy.deepcopy(eager)
    usual = run(eager, x, weight)
    found = run(torch.compile(module), x, weight)
    judge = Judge()
    for name, value in usual.items():
        same = found.get(name, found.get(f"_orig_mod.{name}"))
        judge.as_right_as(name, same, value, exact[name], factor=4)
    kernels = cubins(arguments["scratch"])
    if not kernels:
        raise AssertionError("inductor made no Triton kernel")
    judge.figures["Triton kernels"] = kernels
    return judge.verdict(f"{kernels} Triton kernels; output and {len(usual) - 1} gradients right")


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(x).softmax(dim=-1) / (1 + x.square().sum(-1, keepdim=True))


def compiled_dynamic(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    from torch._dynamo.utils import counters

    seed()
    one = torch.compile(step, dynamic=True)
    judge = Judge()
    for length in LENGTHS:
        x = torch.randn(length, 80, device="cuda")
        judge.as_right_as(f"length {length}", one(x), step(x), step(x.double()), factor=4)
    graphs = counters["stats"]["unique_graphs"]
    if graphs != 1:
        raise AssertionError(f"{len(LENGTHS)} sizes were compiled {graphs} times")
    kernels = cubins(arguments["scratch"])
    return judge.verdict(f"{len(LENGTHS)} sizes with one graph, {kernels} Triton kernels")


# -- torch.compile for the CPU. Before its first kernel inductor finds out which vector instructions
# processor, compiler and torch have in common: for each kind it compiles programs and loads them in
# a Python of its own, which imports torch, before torch 2.13 on every system: up to ten programs.


def on_cpu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x).softmax(dim=-1) * x.sum(-1, keepdim=True)


def compiled_cpp(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    import torch._inductor.config

    seed()
    # what newer releases do except on Windows nearly doubles the time of a single kernel
    if hasattr(torch._inductor.config, "cpp_cache_precompile_headers"):
        torch._inductor.config.cpp_cache_precompile_headers = False
    x = torch.randn(65, 130)
    judge = Judge()
    judge.as_right_as("output", torch.compile(on_cpu)(x), on_cpu(x), on_cpu(x.double()), factor=4)
    folder = os.path.join(arguments["scratch"], "inductor")
    sources = glob.glob(os.path.join(folder, "**", "*.cpp"), recursive=True)
    if not sources:
        raise AssertionError("inductor wrote no C++")
    return judge.verdict(f"{len(sources)} C++ sources compiled, the result is right")

"""torch.compile: results and gradients against float64, and one graph for sizes that change."""

from __future__ import annotations

import copy
from typing import Any

import torch
from compare import Judge, cubins, seed

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


def static(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    seed()
    eager = Block().cuda()
    x, weight = (torch.randn(33, 96, device="cuda") for _ in range(2))
    exact = run(copy.deepcopy(eager).double(), x.double(), weight.double())
    module = copy.deepcopy(eager)
    usual = run(eager, x, weight)
    compiled = torch.compile(module)
    found = run(compiled, x, weight)
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


def dynamic(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    from torch._dynamo.utils import counters

    seed()
    compiled = torch.compile(step, dynamic=True)
    judge = Judge()
    for length in LENGTHS:
        x = torch.randn(length, 80, device="cuda")
        judge.as_right_as(f"length {length}", compiled(x), step(x), step(x.double()), factor=4)
    graphs = counters["stats"]["unique_graphs"]
    if graphs != 1:
        raise AssertionError(f"{len(LENGTHS)} sizes were compiled {graphs} times")
    kernels = cubins(arguments["scratch"])
    return judge.verdict(f"{len(LENGTHS)} sizes with one graph, {kernels} Triton kernels")


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return (dynamic if arguments.get("dynamic") else static)(arguments)

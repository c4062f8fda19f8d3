"""Compile a small module with torch.compile; results and gradients against float64."""

from __future__ import annotations

import copy

import torch
from compare import Judge, cubins, seed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


class Block(torch.nn.Module):
    """Norm, two layers, an activation and a softmax: what inductor fuses."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(96)
        self.up = torch.nn.Linear(96, 192)
        self.down = torch.nn.Linear(192, 96)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.nn.functional.gelu(self.up(self.norm(x)))
        result: Tensor = (x + self.down(hidden)).softmax(dim=-1) * 10
        return result


def run(module: torch.nn.Module, x: Tensor, weight: Tensor) -> dict[str, Tensor]:
    """The output, and the gradients of a weighted sum of it."""
    x = x.detach().requires_grad_()
    out = module(x)
    (out * weight).sum().backward()
    gradients = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    return {"output": out.detach(), "x.grad": x.grad, **gradients}


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
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
        msg = "inductor made no Triton kernel"
        raise AssertionError(msg)
    judge.figures["Triton kernels"] = kernels
    return judge.verdict(f"{kernels} Triton kernels; output and {len(usual) - 1} gradients right")

"""A linear layer with int8 weights by torchao, against the exact product."""

from __future__ import annotations

from typing import Any

import torch
import torchao
from compare import Judge, relative_error, seed
from torchao import quantization

WIDTH = 256
ALLOWED = 0.03  # rounding of normally distributed weights to 8 bits


def prove() -> tuple[str, dict[str, Any]]:
    seed()
    layer = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH, bias=False)).cuda().bfloat16()
    x = torch.randn(32, WIDTH, device="cuda").bfloat16()
    exact = x.double() @ layer[0].weight.detach().double().T
    # a class since torchao 0.7, a function before
    how = getattr(quantization, "Int8WeightOnlyConfig", None) or quantization.int8_weight_only
    quantization.quantize_(layer, how())
    judge = Judge()
    with torch.no_grad():
        judge.hold("int8 weights", relative_error(layer(x), exact), ALLOWED)
    return judge.verdict(f"torchao {torchao.__version__}: int8 weights within rounding")

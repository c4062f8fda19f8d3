"""A linear layer in 8 bits and in 4 bits, against the exact product."""

from __future__ import annotations

from typing import Any

import bitsandbytes
import torch
from bitsandbytes.nn import Linear4bit, Linear8bitLt
from compare import Judge, relative_error, seed

WIDTH = 256
# what rounding to 8 and to 4 bits costs a product of normally distributed numbers
ALLOWED = {"8 bits": 0.05, "4 bits": 0.2}


def prove() -> tuple[str, dict[str, Any]]:
    seed()
    plain = torch.nn.Linear(WIDTH, WIDTH, bias=False)
    x = torch.randn(32, WIDTH).half()
    exact = x.double() @ plain.weight.detach().double().T
    layers = {
        "8 bits": Linear8bitLt(WIDTH, WIDTH, bias=False, has_fp16_weights=False),
        "4 bits": Linear4bit(WIDTH, WIDTH, bias=False, quant_type="nf4"),
    }
    judge = Judge()
    for name, layer in layers.items():
        layer.load_state_dict({"weight": plain.weight.detach().half()})
        with torch.no_grad():
            found = layer.cuda()(x.cuda()).cpu()
        judge.hold(name, relative_error(found, exact), ALLOWED[name])
    return judge.verdict(f"bitsandbytes {bitsandbytes.__version__}: 8 and 4 bits within rounding")

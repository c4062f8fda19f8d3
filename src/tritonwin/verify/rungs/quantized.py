"""Layers in 8 bits and in 4 bits, of a package each, against the exact product."""

from __future__ import annotations

from typing import Any

import torch
from compare import Judge, relative_error, seed

WIDTH = 256


def of_bitsandbytes() -> tuple[str, dict[str, Any]]:
    import bitsandbytes
    from bitsandbytes.nn import Linear4bit, Linear8bitLt

    seed()
    plain = torch.nn.Linear(WIDTH, WIDTH, bias=False)
    x = torch.randn(32, WIDTH).half()
    exact = x.double() @ plain.weight.detach().double().T
    eight = Linear8bitLt(WIDTH, WIDTH, bias=False, has_fp16_weights=False)
    four = Linear4bit(WIDTH, WIDTH, bias=False, quant_type="nf4")
    judge = Judge()
    # what rounding to 8 and to 4 bits costs a product of normally distributed numbers
    for name, layer, allowed in (("8 bits", eight, 0.05), ("4 bits", four, 0.2)):
        layer.load_state_dict({"weight": plain.weight.detach().half()})
        with torch.no_grad():
            found = layer.cuda()(x.cuda()).cpu()
        judge.hold(name, relative_error(found, exact), allowed)
    return judge.verdict(f"bitsandbytes {bitsandbytes.__version__}: 8 and 4 bits within rounding")


def of_torchao() -> tuple[str, dict[str, Any]]:
    import torchao
    from torchao import quantization

    seed()
    layer = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH, bias=False)).cuda().bfloat16()
    x = torch.randn(32, WIDTH, device="cuda").bfloat16()
    exact = x.double() @ layer[0].weight.detach().double().T
    # a class since torchao 0.7, a function before
    how = getattr(quantization, "Int8WeightOnlyConfig", None) or quantization.int8_weight_only
    quantization.quantize_(layer, how())
    judge = Judge()
    with torch.no_grad():
        # rounding of normally distributed weights to 8 bits
        judge.hold("int8 weights", relative_error(layer(x), exact), 0.03)
    return judge.verdict(f"torchao {torchao.__version__}: int8 weights within rounding")

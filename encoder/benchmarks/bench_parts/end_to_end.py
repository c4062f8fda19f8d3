"""Must 7: the forward pass of the whole byte model with one front end or another."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import torch
from byte_model import Body, Shape
from front_ends import ByteEmbedding
from torch import Tensor, nn

import byte_spectral
from bench_parts.baselines import Transform
from bench_parts.record import Bench

ROWS = 8
LENGTHS = (512, 2048, 8192, 32768)
BINS, WINDOW = 256, 64
FRONTS = ("embedding", "naive", "rfft", "fused", "one kernel")


class Features(nn.Module):
    """Magnitudes by one means or another, then one linear layer."""

    def __init__(self, means: str, width: int, device: torch.device) -> None:
        super().__init__()
        self.means = means
        self.linear = nn.Linear(BINS, width)
        self.transform = Transform.on(device, WINDOW, BINS)

    def forward(self, x: Tensor) -> Tensor:
        if self.means == "one kernel":
            weight = self.linear.weight.bfloat16()
            return byte_spectral.byte_spectral_linear(
                x, weight, self.linear.bias.bfloat16(), W=WINDOW, K=BINS
            )
        if self.means == "fused":
            options = {"precision": "fast", "dtype": torch.bfloat16}
            return self.linear(byte_spectral.byte_spectral(x, W=WINDOW, K=BINS, **options))
        return self.linear(getattr(self.transform, self.means)(x))


def front_end(name: str, width: int, device: torch.device) -> nn.Module:
    front = ByteEmbedding(width) if name == "embedding" else Features(name, width, device)
    return front.to(device)


def end_to_end(bench: Bench) -> None:
    """Front end alone and whole model, eager and (without the loop) in a graph; bf16, 4 layers."""
    device = bench.clock.device
    rows, lengths = (2, (16, 32)) if bench.tiny else (ROWS, LENGTHS)
    for name, length in itertools.product(FRONTS, lengths):
        torch.manual_seed(0)
        shape = Shape(layers=1, width=32, context=length) if bench.tiny else Shape(context=length)
        front = front_end(name, shape.width, device)
        body = Body(shape).to(device)
        x = torch.randint(256, (rows, length), dtype=torch.uint8, device=device)
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
            _measure(bench, name, front, partial(_whole, front, body, x), x)


def _measure(
    bench: Bench, name: str, front: nn.Module, whole: Callable[[], Tensor], x: Tensor
) -> None:
    rows, length = x.shape
    shown = (rows, length, BINS, WINDOW)
    slow = name == "naive"
    repeats, warm = ((1, 0) if length > 4096 else (3, 1)) if slow else (15, 3)
    alone = bench.clock.eager(partial(front, x), repeats, warm)
    bench.case(f"{name}, front, eager", shown, alone)
    bench.case(f"{name}, model, eager", shown, bench.clock.eager(whole, repeats, warm))
    if not slow:
        # a few launches of a whole model pass through more than any cache
        busy = bench.clock.busy(lambda _: whole(), 1 << 29, replays=5)
        bench.case(f"{name}, model, graph", shown, busy)


def _whole(front: nn.Module, body: nn.Module, x: Tensor) -> Tensor:
    return body(front(x))

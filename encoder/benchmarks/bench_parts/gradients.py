"""Must 5: errors against float64, and what the backward pass costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from bench_parts.clock import Launch
from bench_parts.record import FIRST, LONGEST_WINDOW, SHAPES, Bench, size_of
from byte_spectral import byte_spectral, byte_spectral_taps
from byte_spectral.definition import reference
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps, window_tensor

LIMITS = {"exact": 1e-6, "fast": 2e-4}


def errors(bench: Bench) -> None:
    """Must 5: the worst error against float64 over all shapes, on random bytes and on text."""
    worst: dict[tuple[str, str, str], float] = {}
    for shape in map(bench.shape, (*SHAPES, LONGEST_WINDOW)):
        b, t, k, w = shape
        texts = {"random bytes": bench.inputs(shape, seed=1, count=1)[0]}
        if len(bench.text) >= b * t:
            words = torch.frombuffer(bytearray(bench.text[: b * t]), dtype=torch.uint8)
            texts["text"] = words.view(b, t).to(bench.clock.device)
        for parts, (name, x) in itertools.product(("mag", "reim"), texts.items()):
            wanted = torch.cat([reference(row, W=w, K=k, parts=parts) for row in x.split(1)])
            for precision in LIMITS:
                found = byte_spectral(x, W=w, K=k, parts=parts, precision=precision)
                error = float((found.double() - wanted).norm() / wanted.norm())
                # a NaN is worse than anything
                worst[precision, parts, name] = max(
                    worst.get((precision, parts, name), 0.0), error if error >= 0 else math.inf
                )
    for (precision, parts, name), error in worst.items():
        bench.goal("5", f"error of {precision} {parts}, {name}, worst shape", error,
                   LIMITS[precision], least=False)  # fmt: skip


def backward(bench: Bench) -> None:
    """Must 5: gradients of window and taps; the backward pass over the forward pass."""
    shape = bench.shape(FIRST)
    b, t, k, w = shape
    inputs = bench.inputs(shape)
    device = bench.clock.device
    window = window_tensor("tail", w).float().to(device).requires_grad_()
    taps = dft_taps(make_spec(w, k, None, "mag", causal=True)).float().to(device).requires_grad_()
    into = [torch.randn(b, t, k, device=device) for _ in range(4)]
    forwards: dict[str, tuple[Tensor, Callable[[Tensor], Tensor]]] = {
        "window": (window, lambda x: byte_spectral(x, W=w, K=k, window=window)),
        "taps": (taps, lambda x: byte_spectral_taps(x, taps)),
    }
    for name, (learnt, call) in forwards.items():

        def forward(i: int, call: Callable[[Tensor], Tensor] = call) -> Tensor:
            return call(inputs[i % len(inputs)])

        def both(i: int, forward: Launch = forward, learnt: Tensor = learnt) -> Tensor:
            return torch.autograd.grad(forward(i), learnt, into[i % len(into)])[0]

        launches: dict[str, Launch] = {"forward": forward, "both": both}
        found = bench.in_turn(launches, dict.fromkeys(launches, size_of(shape, torch.float32)))
        for what, timing in found.items():
            bench.case(f"{name}, {what}", shape, timing)
        ratio = found["both"].us / found["forward"].us - 1
        bench.goal("5", f"backward over forward, learnable {name}", ratio, 2.5, least=False)

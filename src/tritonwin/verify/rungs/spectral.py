"""The byte-spectral encoder's kernels against its float64 reference."""

from __future__ import annotations

import torch
from compare import Judge, cubins, relative_error, seed

from tritonwin.spectral import byte_spectral, reference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# (batch, length, W, K, parts): the default, and lengths that fill no block
CASES = (
    (2, 1000, 64, 256, "mag"),
    (1, 777, 32, 64, "reim"),
    (3, 130, 64, 128, "power"),
)
ALLOWED = 1e-5  # "exact" is fp32 with taps in two halves


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    seed()
    judge = Judge()
    for batch, length, window, frequencies, parts in CASES:
        x = torch.randint(0, 256, (batch, length), dtype=torch.uint8, device="cuda")
        options: dict[str, Any] = {"W": window, "K": frequencies, "parts": parts}
        exact = reference(x, **options)
        found = byte_spectral(x, **options, backend="triton")
        name = f"{batch} x {length}, W={window}, K={frequencies}, {parts}"
        judge.hold(name, relative_error(found, exact), ALLOWED)
    kernels = cubins(arguments["scratch"])
    if not kernels:
        msg = "the encoder compiled no Triton kernel"
        raise AssertionError(msg)
    judge.figures["Triton kernels"] = kernels
    return judge.verdict(f"{len(CASES)} forms of the encoder agree with float64")

"""The proof of the kernels that tritonwin's ladder runs as its rung `spectral`.

tritonwin finds `prove` in the environment by the entry point `spectral` of the group
`tritonwin.rungs`; nothing of tritonwin is imported here.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from byte_spectral.definition import reference
from byte_spectral.functional import byte_spectral

# (batch, length, W, K, parts): the default, and lengths that fill no block
CASES = ((2, 1000, 64, 256, "mag"), (1, 777, 32, 64, "reim"), (3, 130, 64, 128, "power"))
ALLOWED = 1e-5  # "exact" is fp32 with taps in two halves


def prove(arguments: dict[str, Any], device: str = "cuda") -> tuple[str, dict[str, float | str]]:
    """Compare the kernels with the float64 reference.

    Returns:
        What was shown, and the relative error of each case.

    Raises:
        AssertionError: an error is too large, or a result is not a number.
    """
    del arguments
    torch.manual_seed(20261128)
    figures: dict[str, float | str] = {}
    wrong = []
    for batch, length, window, bins, parts in CASES:
        x = torch.randint(0, 256, (batch, length), dtype=torch.uint8, device=device)
        exact = reference(x, W=window, K=bins, parts=parts)
        found = byte_spectral(x, W=window, K=bins, parts=parts, backend="triton").double()
        error = float((found - exact).abs().sum() / exact.abs().sum())
        name = f"{batch} x {length}, W={window}, K={bins}, {parts}"
        # JSON has no infinity
        figures[f"error, {name}"] = float(f"{error:.3g}") if math.isfinite(error) else "no number"
        if not error <= ALLOWED:
            wrong.append(f"{name}: error {error:.3g}, allowed {ALLOWED:.3g}")
    if wrong:
        raise AssertionError("; ".join(wrong))
    return f"{len(CASES)} forms of the encoder agree with float64", figures

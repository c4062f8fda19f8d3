"""Shared by the encoder's tests on a GPU: bytes, gradients, and how far apart two results are."""

from __future__ import annotations

from typing import Any

import torch

from byte_spectral import byte_spectral_taps, pack
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps


def random_bytes(*shape: int, seed: int = 0) -> torch.Tensor:
    source = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randint(256, shape, dtype=torch.uint8, device="cuda", generator=source)


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """Relative, Frobenius; all that was found is finite."""
    assert found.shape == wanted.shape
    assert bool(torch.isfinite(found).all())
    return float(
        (found.double() - wanted.double()).norm() / wanted.double().norm().clamp_min(1e-30)
    )


def rounded(taps: torch.Tensor, precision: str) -> torch.Tensor:
    """The taps that the kernels multiply by, in float64: sums of fp16 limbs."""
    scale = 2.0 ** pack.shift_of(taps.shape[0]) / 255
    parts = pack.limbs(taps.float() * scale, 1 if precision == "fast" else 2)
    return sum(part.double() for part in parts) / scale


def gradients(
    x: torch.Tensor, K: int, W: int, *, parts: str = "mag", precision: str = "exact",
    dtype: torch.dtype = torch.float32, **more: Any,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """As the kernels make it, twice the same, and in float64 at the very taps that they multiply by:
    where X is near 0, its direction, and with "logmag" a slope of up to 1000, hang on how the taps
    are rounded.
    """
    spec = make_spec(W, K, None, parts, more.get("causal", True), precision)
    taps = dft_taps(spec).cuda()
    a, b = taps.float().requires_grad_(), rounded(taps, precision).requires_grad_()
    out = byte_spectral_taps(x, a, parts=parts, precision=precision, dtype=dtype, **more)
    wanted = byte_spectral_taps(x, b, parts=parts, dtype=torch.float64, backend="torch", **more)
    up = torch.randn(out.shape, device="cuda").to(dtype)
    (first,) = torch.autograd.grad(out, a, up, retain_graph=True)
    (again,) = torch.autograd.grad(out, a, up)
    assert torch.equal(first, again)
    (right,) = torch.autograd.grad(wanted, b, up.double())
    return first, right

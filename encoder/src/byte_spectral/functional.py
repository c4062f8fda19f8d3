"""The functional forms: checks, and the choice between the kernels and plain PyTorch."""

from __future__ import annotations

from typing import Any, Literal

import torch

from byte_spectral import choose, fallback, ops
from byte_spectral.checks import as_bytes as as_bytes
from byte_spectral.checks import bins_of, bytes_of, lengths_of, taps_shape
from byte_spectral.spec import WINDOWS, Spec, make_spec, window_values
from byte_spectral.taps import dft_taps, window_tensor

Backend = Literal["auto", "triton", "torch"]

_plain = torch.Tensor  # a subclass (FakeTensor and others) goes through the dispatcher


def byte_spectral(
    x: torch.Tensor,
    *,
    W: int = 64,
    K: int = 256,
    N: int | None = None,
    parts: str = "mag",
    window: str | torch.Tensor = "tail",
    causal: bool = True,
    precision: str = "exact",
    dtype: torch.dtype = torch.float32,
    lengths: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Short-time DFT of bytes, one frame a byte.

    Args:
        x: bytes, uint8 (B, T); int16, int32 and int64 on the CPU are checked and narrowed.
        W: window in bytes, 1..4096; the newest byte of a frame has weight 1.
        K: bins, at the frequencies k/N; N is 2K unless given.
        parts: "mag", "logmag" (log(|X| + 1e-3)) or "power", E = K; "reim" [Re | Im], E = 2K.
        window: "tail" (cos^2 from 1 to 0), "rect", or a real tensor (W,), which may learn.
        causal: False centres the frame; it then sees (W-1)//2 bytes after its own.
        precision: "exact" or "fast", see docs/encoder.md for the errors.
        lengths: (B,); bytes from there on count as outside the row, and those positions are 0.
        backend: "auto" (the kernels on CUDA, else PyTorch), "triton" or "torch".

    Returns:
        (B, T, E) of `dtype`.

    Raises:
        TypeError, ValueError: an argument that cannot be used, by name.
        ModuleNotFoundError: backend="triton" without triton.
    """
    key = None
    if lengths is None and type(window) is str and type(K) is int and _plain_bytes(x):
        # what was checked at the first call of this kind
        size = choose.size_of(x, K)
        key = (W, K, N, parts, window, causal, precision, dtype, backend, x.device, size)
        found = choose.ready.get(key)
        if found is not None:
            form, packed = found
            return form(x, packed)
    spec = make_spec(W, K, N, parts, causal, precision)
    x = bytes_of(x)
    if key is not None and window in WINDOWS and choose.use_triton(x.device, backend, dtype):
        form, packed = choose.ready[key] = choose.prepared(
            spec, dtype, x.device, window, False, size
        )
        return form(x, packed)
    return encode(x, spec, _checked(window, W), dtype, lengths_of(lengths, x), backend)


def encode(
    x: torch.Tensor,
    spec: Spec,
    window: str | torch.Tensor,
    dtype: torch.dtype,
    lengths: torch.Tensor | None,
    backend: str,
    skip: int = 0,
) -> torch.Tensor:
    """Features of checked bytes, the first `skip` of each row being history.

    window: its name, its values (W,), or taps (W, 2K).
    """
    if not choose.use_triton(x.device, backend, dtype):
        return fallback.encode(x, spec, window, dtype, lengths)[:, skip:]
    if isinstance(window, str):
        return ops.encode(x, lengths, spec.text, window, dtype, skip)
    taps = window if window.dim() == 2 else dft_taps(spec, window.to(x.device))
    taps = taps.to(x.device, torch.float32).contiguous()
    return ops.taps_forward(x, taps, lengths, spec.text, dtype)[:, skip:]


def _checked(window: str | torch.Tensor, W: int) -> str | torch.Tensor:
    """A name that there is, or values (W,)."""
    if not isinstance(window, str):
        return window_tensor(window, W)
    window_values(window, 1)  # raises
    return window


def _plain_bytes(x: torch.Tensor) -> bool:
    """Nothing traces or intercepts, so that a kernel may be launched outside the dispatcher, and x
    is what one reads."""
    return (
        type(x) is _plain
        and not torch.compiler.is_compiling()
        and not torch._C._len_torch_dispatch_stack()
        and x.dim() == 2
        and x.dtype == torch.uint8
        and x.stride(1) == 1
    )


def byte_spectral_taps(
    x: torch.Tensor,
    taps: torch.Tensor,
    *,
    parts: str = "mag",
    causal: bool = True,
    precision: str = "exact",
    dtype: torch.dtype = torch.float32,
    lengths: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """The same with any taps (W, 2K), [Re | Im] columns, newest byte first; differentiable in them.

    |tap| must stay below 2 on the kernels' way through fp16, which the DFT's are by far.
    """
    W, K = taps_shape(taps)
    spec = make_spec(W, K, None, parts, causal, precision)
    x = bytes_of(x)
    return encode(x, spec, taps, dtype, lengths_of(lengths, x), backend)


def byte_spectral_linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    embedding: torch.Tensor | None = None,
    gated: bool = False,
    window: str | torch.Tensor = "tail",
    lengths: torch.Tensor | None = None,
    backend: Backend = "auto",
    **transform: Any,
) -> torch.Tensor:
    """`linear(byte_spectral(x), weight, bias)` (B, T, D) without writing the features, and plus
    `embedding[x]`: the front end of a byte-level model in one kernel.

    Args:
        weight: (D, E), on x's device; E is K, or 2K for "reim". Under autocast it is cast like
            that of a linear layer. The features have its type when they are multiplied.
        bias: (D,), there too.
        embedding: (256, D), there too; a row for each byte.
        gated: `embedding[x] * sigmoid(linear(...))` rather than the sum.
        transform: W, K, N, parts, causal and precision as of `byte_spectral`, but "fast" is the
            default; K is implied by weight, and checked if given.

    Differentiable in weight, bias, embedding and a window that learns.
    """
    x = bytes_of(x)
    lengths = lengths_of(lengths, x)
    bins = bins_of(x, weight, bias, embedding, transform.get("parts", "mag"))
    if transform.get("K", bins) not in (None, bins):
        raise ValueError(
            f"weight (D, E) has E = {weight.shape[1]}, "
            f"which is not that of K = {transform['K']}, {transform.get('parts', 'mag')}"
        )
    if gated and embedding is None:
        raise ValueError("gated needs an embedding, whose rows the gate is for")
    spec = make_spec(**{"precision": "fast", **transform, "K": bins})
    window = _checked(window, spec.W)
    return project(x, spec, weight, bias, embedding, gated, window, lengths, backend)


def project(
    x: torch.Tensor,
    spec: Spec,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    embedding: torch.Tensor | None,
    gated: bool,
    window: str | torch.Tensor,
    lengths: torch.Tensor | None,
    backend: str,
    skip: int = 0,
) -> torch.Tensor:
    """The layer behind what `encode` makes, in one kernel where there is one for it."""
    weight = weight.to(choose.autocast_type(x.device) or weight.dtype)
    bias = None if bias is None else bias.to(weight.dtype)
    embedding = None if embedding is None else embedding.to(weight.dtype)
    fused = (
        isinstance(window, str)
        and spec.parts != "reim"
        and weight.dtype in (torch.bfloat16, torch.float16)
        and choose.use_triton(x.device, backend, weight.dtype)
    )
    if fused:
        return ops.linear(x, weight, bias, embedding, lengths, spec.text, window, skip, gated)
    features = encode(x, spec, window, weight.dtype, lengths, backend, skip)
    out = torch.nn.functional.linear(features, weight, bias)
    if embedding is None:
        return out
    rows = torch.nn.functional.embedding(x[:, skip:].long(), embedding)
    return rows * out.sigmoid() if gated else rows + out

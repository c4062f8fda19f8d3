"""The operators that torch.compile, torch.export and FakeTensor see: one node each."""

from __future__ import annotations

import torch
from torch.library import custom_op

from byte_spectral import choose
from byte_spectral.definition import before_select
from byte_spectral.spec import make_spec


def _empty(x: torch.Tensor, features: int, dtype: torch.dtype, skip: int = 0) -> torch.Tensor:
    return x.new_empty((x.shape[0], x.shape[1] - skip, features), dtype=dtype)


@custom_op("byte_spectral::encode", mutates_args=())
def encode(
    x: torch.Tensor,
    lengths: torch.Tensor | None,
    W: int,
    K: int,
    N: int,
    parts: str,
    window: str,
    causal: bool,
    precision: str,
    dtype: torch.dtype,
    skip: int,
) -> torch.Tensor:
    """Features of a named window; the first `skip` bytes of each row are history."""
    spec = make_spec(W, K, N, parts, causal, precision)
    form, packed = choose.prepared(
        spec, dtype, x.device, window, lengths is not None, choose.size_of(x, K)
    )
    return form(x, packed, lengths, skip)


@encode.register_fake
def _(x, lengths, W, K, N, parts, window, causal, precision, dtype, skip):  # type: ignore[no-untyped-def]
    return _empty(x, 2 * K if parts == "reim" else K, dtype, skip)


@custom_op("byte_spectral::taps", mutates_args=())
def encode_taps(
    x: torch.Tensor,
    taps: torch.Tensor,
    lengths: torch.Tensor | None,
    parts: str,
    causal: bool,
    precision: str,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Features by any taps (W, 2K) fp32."""
    spec = make_spec(taps.shape[0], taps.shape[1] // 2, None, parts, causal, precision)
    size = choose.size_of(x, spec.K)
    form = choose.form(spec, dtype, x.device, None, lengths is not None, size)
    return form(x, form.pack(taps), lengths)


@encode_taps.register_fake
def _(x, taps, lengths, parts, causal, precision, dtype):  # type: ignore[no-untyped-def]
    return _empty(x, taps.shape[1] // (1 if parts == "reim" else 2), dtype)


@custom_op("byte_spectral::taps_backward", mutates_args=())
def taps_backward(
    upstream: torch.Tensor,
    x: torch.Tensor,
    taps: torch.Tensor,
    lengths: torch.Tensor | None,
    parts: str,
    causal: bool,
    precision: str,
) -> torch.Tensor:
    """d loss / d taps; the same bits at every call."""
    spec = make_spec(taps.shape[0], taps.shape[1] // 2, None, parts, causal, precision)
    form = choose.gradient(spec, x.device, lengths is not None)
    if not x.numel():
        return torch.zeros_like(taps)
    if not form.recomputes:  # long windows: the spectrum once more, then the linear gradient
        linear = make_spec(spec.W, spec.K, None, "reim", causal, precision)
        spectrum = encode_taps(x, taps, lengths, "reim", causal, precision, torch.float32)
        upstream = before_select(spectrum, upstream.float(), parts)
        form = choose.gradient(linear, x.device, lengths is not None)
    return form(x, taps, upstream.contiguous(), lengths, 0)


@taps_backward.register_fake
def _(upstream, x, taps, lengths, parts, causal, precision):  # type: ignore[no-untyped-def]
    return torch.empty_like(taps)


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
    x, taps, lengths, ctx.parts, ctx.causal, ctx.precision, _ = inputs
    ctx.save_for_backward(x, taps, lengths)


def _give(ctx, upstream):  # type: ignore[no-untyped-def]
    x, taps, lengths = ctx.saved_tensors
    found = taps_backward(upstream, x, taps, lengths, ctx.parts, ctx.causal, ctx.precision)
    return None, found, None, None, None, None, None


encode_taps.register_autograd(_give, setup_context=_keep)


@custom_op("byte_spectral::linear", mutates_args=())
def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    lengths: torch.Tensor | None,
    W: int,
    N: int,
    parts: str,
    window: str,
    causal: bool,
    precision: str,
) -> torch.Tensor:
    """Features times weight^T (D, K) plus bias, in the type of the weight.

    A bias (256, D) has a row for each byte.
    """
    spec = make_spec(W, weight.shape[1], N, parts, causal, precision)
    form, packed = choose.projected(
        spec, weight.dtype, x.device, window, weight.shape[0], lengths is not None
    )
    bias = None if bias is None else bias.contiguous()
    return form(x, packed, weight.contiguous(), bias, lengths)


@linear.register_fake
def _(x, weight, bias, lengths, W, N, parts, window, causal, precision):  # type: ignore[no-untyped-def]
    return _empty(x, weight.shape[0], weight.dtype)


@custom_op("byte_spectral::table_backward", mutates_args=())
def table_backward(x: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor:
    """Sums (256, D) of the upstream's rows (B*T, D) by their byte; the same bits at every call."""
    if not x.numel():
        return upstream.new_zeros((256, upstream.shape[1]))
    return choose.table_gradient(x.device)(x, upstream.contiguous())


@table_backward.register_fake
def _(x, upstream):  # type: ignore[no-untyped-def]
    return upstream.new_empty((256, upstream.shape[1]))


def _keep_linear(ctx, inputs, output):  # type: ignore[no-untyped-def]
    x, weight, bias, lengths, *ctx.rest = inputs
    ctx.rows = 0 if bias is None else bias.dim()
    ctx.save_for_backward(x, weight, lengths)


def _give_linear(ctx, upstream):  # type: ignore[no-untyped-def]
    """The features are computed again: writing them is dearer than the product."""
    x, weight, lengths = ctx.saved_tensors
    W, N, parts, window, causal, precision = ctx.rest
    features = encode(x, lengths, W, weight.shape[1], N, parts, window, causal, precision,
                      weight.dtype, 0)  # fmt: skip
    flat = upstream.reshape(-1, weight.shape[0])
    d_weight = flat.T @ features.reshape(-1, weight.shape[1])
    d_bias = None
    if ctx.rows == 1:
        d_bias = flat.sum(0)
    elif ctx.rows == 2:
        d_bias = table_backward(x, flat)
    return None, d_weight, d_bias, *[None] * 7


linear.register_autograd(_give_linear, setup_context=_keep_linear)

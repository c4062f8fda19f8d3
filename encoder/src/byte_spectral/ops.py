"""The operators that torch.compile, torch.export and FakeTensor see: one node each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, get_type_hints

import torch
from torch.library import custom_op

from byte_spectral import choose, fallback
from byte_spectral.definition import before_select
from byte_spectral.spec import spec_of


def operator(fake: Callable[..., torch.Tensor], keep: Any = None, backward: Any = None) -> Any:
    """Registers a function with the shape of its result and, where it has one, its gradient."""

    def registered(function: Callable[..., torch.Tensor]) -> Any:
        # PyTorch 2.4 reads no annotations that are strings
        function.__annotations__ = get_type_hints(function)
        made = custom_op(f"byte_spectral::{function.__name__}", mutates_args=())(function)
        made.register_fake(fake)
        if backward is not None:
            made.register_autograd(backward, setup_context=keep)
        return made

    return registered


def _empty(x: torch.Tensor, features: int, dtype: torch.dtype, skip: int = 0) -> torch.Tensor:
    return x.new_empty((x.shape[0], x.shape[1] - skip, features), dtype=dtype)


@operator(
    lambda x, _, transform, __, dtype, skip: _empty(x, spec_of(transform).features, dtype, skip)
)
def encode(
    x: torch.Tensor,
    lengths: torch.Tensor | None,
    transform: str,
    window: str,
    dtype: torch.dtype,
    skip: int,
) -> torch.Tensor:
    """Features of a named window; the first `skip` bytes of each row are history."""
    spec = spec_of(transform)
    size = choose.size_of(x, spec.K)
    form, packed = choose.prepared(spec, dtype, x.device, window, lengths is not None, size)
    return form(x, packed, lengths, skip)


@operator(lambda _, __, taps, *___: torch.empty_like(taps))
def taps_backward(
    upstream: torch.Tensor,
    x: torch.Tensor,
    taps: torch.Tensor,
    lengths: torch.Tensor | None,
    transform: str,
) -> torch.Tensor:
    """d loss / d taps; the same bits at every call."""
    spec = spec_of(transform)
    if not x.numel():
        return torch.zeros_like(taps)
    form = choose.gradient(spec, x.device)
    if form is not None:
        return form.gradient(x, taps, upstream.contiguous(), lengths)
    linear = dataclasses.replace(spec, parts="reim")
    spectrum = taps_forward(x, taps, lengths, linear.text, torch.float32)
    upstream = before_select(spectrum, upstream.float(), spec.parts)
    return fallback.taps_gradient(x, spec, upstream, lengths)


def _keep_taps(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    *tensors, ctx.transform, _ = inputs
    ctx.save_for_backward(*tensors)


def _back_to_taps(ctx: Any, upstream: torch.Tensor) -> tuple[Any, ...]:
    return None, taps_backward(upstream, *ctx.saved_tensors, ctx.transform), None, None, None


@operator(lambda x, _, __, transform, dtype: _empty(x, spec_of(transform).features, dtype),
          _keep_taps, _back_to_taps)  # fmt: skip
def taps_forward(
    x: torch.Tensor,
    taps: torch.Tensor,
    lengths: torch.Tensor | None,
    transform: str,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Features by any taps (W, 2K) fp32; N of the transform plays no part."""
    spec = spec_of(transform)
    size = choose.size_of(x, spec.K)
    form = choose.form(spec, dtype, x.device, None, lengths is not None, size)
    return form(x, form.pack(taps), lengths)


@operator(lambda _, upstream: upstream.new_empty((256, upstream.shape[1])))
def table_backward(x: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor:
    """Sums (256, D) of the upstream's rows (B*T, D) by their byte; the same bits at every call."""
    values = torch.arange(256, dtype=torch.uint8, device=x.device)
    chosen = upstream.new_empty((256, x.numel()))  # of zeros and ones, so that nothing is sorted
    return torch.eq(values[:, None], x.flatten(), out=chosen) @ upstream


def _keep_layer(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    *tensors, ctx.transform, ctx.window, ctx.skip, ctx.gated = inputs
    ctx.save_for_backward(*tensors)


def _back_to_layer(ctx: Any, upstream: torch.Tensor) -> tuple[Any, ...]:
    """The features are computed again: writing them is dearer than the product."""
    x, weight, bias, table, lengths = ctx.saved_tensors
    own = x[:, ctx.skip :]
    features = encode(x, lengths, ctx.transform, ctx.window, weight.dtype, ctx.skip).flatten(0, 1)
    flat = upstream.flatten(0, 1)
    d_bias = d_table = None
    if ctx.gated:
        gate = torch.nn.functional.linear(features, weight, bias).sigmoid()
        d_table = table_backward(own, flat * gate)
        flat = flat * table[own.flatten().long()] * (gate * (1 - gate))
    elif table is not None:
        d_table = table_backward(own, flat)
    if bias is not None:  # every row is of some byte, so that the table's sums are all there is
        d_bias = flat.sum(0) if ctx.gated or d_table is None else d_table.sum(0)
    return None, flat.T @ features, d_bias, d_table, *[None] * 5


@operator(lambda x, weight, *rest: _empty(x, weight.shape[0], weight.dtype, rest[-2]),
          _keep_layer, _back_to_layer)  # fmt: skip
def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    table: torch.Tensor | None,
    lengths: torch.Tensor | None,
    transform: str,
    window: str,
    skip: int,
    gated: bool,
) -> torch.Tensor:
    """Features times weight^T (D, K) plus bias, in the type of the weight; the row of a table
    (256, D) for the position's byte is added or, gated, multiplied by the sigmoid of that."""
    of_layer = (weight.shape[0], gated)
    form, packed = choose.prepared(
        spec_of(transform), weight.dtype, x.device, window, lengths is not None, 0, *of_layer
    )
    layer = {"weight": weight, "bias": bias, "table": table}
    layer = {name: None if each is None else each.contiguous() for name, each in layer.items()}
    return form(x, packed, lengths, skip, **layer)

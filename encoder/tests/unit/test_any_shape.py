"""Shapes that nobody thought of, through the product's own choice of plans and its launches.

`watched_kernels` fails a launch that reads or writes what it was not given, or writes a number twice or
never; here the numbers are compared with the float64 definition, too.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import event, given, settings
from hypothesis import strategies as st
from torch import Tensor

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

from watched_kernels import gpu

from byte_spectral import (
    ByteSpectral,
    byte_spectral,
    byte_spectral_linear,
    byte_spectral_taps,
    choose,
    fallback,
    pack,
    reference,
)
from byte_spectral.spec import PARTS, PRECISIONS, WINDOWS, make_spec

CAPABILITIES = (90, 90, 90, 75, 80, 86, 89, 100, 120)
EDGES = (1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
UNITS = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
BOUNDS = {"exact": 1e-6, "fast": 5e-4}  # of few numbers the latter is more than of many

kinds = st.sampled_from(list(UNITS))
sizes = st.sampled_from(EDGES) | st.integers(1, 300)
few = st.sampled_from((1, 2, 15, 16, 17, 31, 33, 63, 64, 65)) | st.integers(1, 70)
machines = {"capability": st.sampled_from(CAPABILITIES), "processors": st.sampled_from((1, 3, 132))}


@st.composite
def specs(draw: st.DrawFn, windows: st.SearchStrategy[int] = sizes) -> dict[str, Any]:
    K = draw(sizes)
    return {
        "W": draw(windows), "K": K, "N": draw(st.none() | st.sampled_from((1, 3, 2 * K + 1, 256))),
        "parts": draw(st.sampled_from(PARTS)), "window": draw(st.sampled_from(WINDOWS)),
        "causal": draw(st.booleans()), "precision": draw(st.sampled_from(PRECISIONS)),
    }  # fmt: skip


@st.composite
def rows(draw: st.DrawFn, lengths: st.SearchStrategy[int] = few) -> Tensor:
    """Bytes (B, T), other bytes around them, at any address."""
    T = draw(lengths)
    B = draw(st.integers(1, 2 if T > 40 else 3) if T > 3 else st.integers(1, 40))
    before, after = draw(st.integers(0, 17)), draw(st.sampled_from((0, 1, 16, 100)))
    source = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    shape = (B, before + T + after)
    wide = torch.randint(256, shape, dtype=torch.uint8, generator=source)
    if draw(st.booleans()):
        wide = wide.where(wide > 200, 255)  # much of the same
    return wide[:, before : before + T]


@st.composite
def ends(draw: st.DrawFn, x: Tensor) -> Tensor | None:
    """Of the rows, in any type and anywhere; or none."""
    if draw(st.booleans()):
        return None
    B, T = x.shape
    choice = st.sampled_from((0, 1, T - 1, T, T + 1, T + 200)) | st.integers(0, T)
    found = [draw(choice) for _ in range(B)]
    kind = draw(st.sampled_from((torch.int16, torch.int32, torch.int64)))
    step, first = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    wide = torch.full((first + step * B,), 77, dtype=kind)
    wide[first::step] = torch.tensor(found, dtype=kind)
    return wide[first::step]


def near(found: Tensor, wanted: Tensor, bound: float, parts: str = "mag") -> None:
    """Together, as the bounds are promised; numbers of which none is large count as if one was."""
    assert found.shape == wanted.shape
    assert bool(torch.isfinite(found).all())
    bound += (10 if parts == "logmag" else 1) * UNITS[found.dtype]
    found = found.detach().double()
    if parts == "logmag":  # of which the error near 0 has no bound
        found, wanted = found.exp(), wanted.exp()
    least = 0.1 * wanted.numel() ** 0.5
    apart = float((found - wanted).norm()) / max(float(wanted.norm()), least)
    assert apart <= bound * (2 if parts == "power" else 1), apart


def named(o: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in o.items() if name != "precision"}


@settings(max_examples=15)
@given(x=rows(), o=specs(), dtype=kinds, data=st.data(), **machines)
def test_encode(x: Tensor, o: dict[str, Any], dtype: torch.dtype, capability: int,
                processors: int, data: st.DataObject) -> None:  # fmt: skip
    lengths = data.draw(ends(x))
    with gpu(capability, processors):
        found = byte_spectral(x, dtype=dtype, lengths=lengths, **o)
        spec = make_spec(o["W"], o["K"], o["N"], o["parts"], o["causal"], o["precision"])
        size = choose.size_of(x, spec.K)
        form = choose.form(spec, dtype, x.device, o["window"], lengths is not None, size)
    event(type(form).__name__)
    wanted = reference(x, lengths=lengths, **named(o))
    near(found, wanted, BOUNDS[o["precision"]], o["parts"])
    if lengths is not None:
        past = torch.arange(x.shape[1]) >= lengths[:, None]
        assert not found[past].any()


@settings(max_examples=4)
@given(x=rows(), o=specs(), dtype=kinds, data=st.data(), **machines)
def test_a_stream(x: Tensor, o: dict[str, Any], dtype: torch.dtype, capability: int,
                  processors: int, data: st.DataObject) -> None:  # fmt: skip
    o["causal"] = True
    cuts = sorted(data.draw(st.lists(st.integers(0, x.shape[1]), max_size=2)))
    encoder, state, parts = ByteSpectral(dtype=dtype, **o), None, []
    with gpu(capability, processors):
        for piece in x.tensor_split(cuts, dim=1):
            found, state = encoder.stream(piece, state)
            parts.append(found)
    near(torch.cat(parts, dim=1), reference(x, **named(o)), BOUNDS[o["precision"]], o["parts"])


@settings(max_examples=4)
@given(x=rows(), K=few, W=few | st.just(129), parts=st.sampled_from(PARTS), dtype=kinds,
       causal=st.booleans(), precision=st.sampled_from(PRECISIONS), data=st.data(),
       **machines)  # fmt: skip
def test_taps_and_their_gradient(x: Tensor, K: int, W: int, parts: str, dtype: torch.dtype,
                                 causal: bool, precision: str, capability: int, processors: int,
                                 data: st.DataObject) -> None:  # fmt: skip
    lengths = data.draw(ends(x))
    spec = make_spec(W, K, None, parts, causal, precision)
    source = torch.Generator().manual_seed(W)
    taps = torch.randn(W, 2 * K, generator=source) / W**0.5
    upstream = torch.randn(*x.shape, spec.features, generator=source).to(dtype)
    exact = rounded(taps, precision).requires_grad_()
    wanted = fallback.encode(x, spec, exact, torch.float64, lengths)
    (right,) = torch.autograd.grad(wanted, exact, upstream.double())
    taps.requires_grad_()
    o = {"parts": parts, "causal": causal, "precision": precision, "dtype": dtype}
    with gpu(capability, processors):
        found = byte_spectral_taps(x, taps, lengths=lengths, **o)
        (slope,) = torch.autograd.grad(found, taps, upstream)
    near(found, wanted.detach(), BOUNDS[precision], parts)
    # where X is near 0 its direction has no bound
    assert float((slope - right).norm()) <= 1e-2 * float(right.norm()) + 1e-4


def rounded(taps: Tensor, precision: str) -> Tensor:
    """The taps that the kernels multiply by, in float64: sums of fp16 limbs."""
    scale = 2.0 ** pack.shift_of(taps.shape[0]) / 255
    limbs = pack.limbs(taps * scale, 1 if precision == "fast" else 2)
    return sum(limb.double() for limb in limbs) / scale  # type: ignore[no-any-return]


@settings(max_examples=8)
@given(x=rows(), o=specs(sizes.filter(lambda W: W < 140)), D=sizes, data=st.data(),
       dtype=st.sampled_from((torch.float16, torch.bfloat16)), **machines)  # fmt: skip
def test_a_linear_layer(x: Tensor, o: dict[str, Any], D: int, dtype: torch.dtype, capability: int,
                        processors: int, data: st.DataObject) -> None:  # fmt: skip
    o["parts"] = data.draw(st.sampled_from(("mag", "logmag", "power")))
    o["K"] = K = data.draw(sizes | st.sampled_from((8, 40, 72, 96, 128, 320, 328)))
    lengths, at = data.draw(ends(x)), data.draw(st.integers(0, 9))
    source = torch.Generator().manual_seed(D)
    weight = (torch.randn(at + D * K, generator=source) / K**0.5).to(dtype)[at:].view(D, K)
    if data.draw(st.booleans()):
        weight = weight.T.contiguous().T
    bias = torch.randn(2 * D, generator=source).to(dtype)[:: data.draw(st.sampled_from((1, 2)))][:D]
    bias = data.draw(st.sampled_from((None, bias)))
    with gpu(capability, processors):
        found = byte_spectral_linear(x, weight, bias, lengths=lengths, **o)
    features = reference(x, lengths=lengths, **named(o))
    added = None if bias is None else bias.double()
    wanted = torch.nn.functional.linear(features, weight.double(), added)
    near(found, wanted, 3e-2 if o["parts"] == "logmag" else 2e-2)


long_windows = st.sampled_from((512, 512, 512, 1024, 511, 513))


@settings(max_examples=4)
@given(x=rows(st.sampled_from((1, 63, 64, 511, 512, 513, 700))),
       o=specs(long_windows), dtype=kinds, K=st.sampled_from((32, 64, 96, 33)),
       processors=st.sampled_from((1, 132)))  # fmt: skip
def test_long_windows(x: Tensor, o: dict[str, Any], dtype: torch.dtype, K: int,
                      processors: int) -> None:  # fmt: skip
    o |= {
        "K": K,
        "N": 64,
        "causal": True,
    }
    with gpu(90, processors):
        found = byte_spectral(x[:2], dtype=dtype, **o)
    near(found, reference(x[:2], **named(o)), BOUNDS[o["precision"]], o["parts"])

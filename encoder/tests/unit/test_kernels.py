"""The Triton kernels in Triton's interpreter, on the CPU, against the float64 definition.

What only a GPU can run (the sm_90 kernels, bf16 products) is in tests/gpu/test_encoder.py.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="no Triton for this system")

import packing
from compare import error, random_bytes

from byte_spectral import (
    ByteSpectral,
    byte_spectral,
    byte_spectral_linear,
    byte_spectral_taps,
    choose,
    fallback,
    launch,
    ops,
    pack,
    plans,
    reference,
)
from byte_spectral.definition import before_select, select
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps

CPU = torch.device("cpu")
SMALL = {"bm": 16, "be": 16, "bk": 32, "warps": 1, "stages": 1}


@pytest.fixture(autouse=True)
def interpreter() -> None:
    if not choose.INTERPRETED:
        pytest.skip("TRITON_INTERPRET=1 was not set before the first import")


def dot(x: Tensor, plan: plans.Plan, lengths: Tensor | None = None, skip: int = 0,
        dtype: torch.dtype = torch.float32, **o: object) -> Tensor:  # fmt: skip
    spec = make_spec(o["W"], o["K"], o.get("N"), o.get("parts", "mag"), o.get("causal", True),
                     o.get("precision", "exact"))  # fmt: skip
    window = o.get("window", "tail")
    form = launch.Dot(spec, dtype, CPU, SMALL | plan, window)
    packed = form.pack(dft_taps(spec, window).float())
    return form(x, packed, lengths, skip)


@pytest.mark.parametrize(
    ("plan", "bound", "o"),
    [
        ({}, 2e-7, {"W": 20, "K": 12}),
        ({}, 2e-7, {"W": 33, "K": 17, "N": 30, "causal": False, "window": "rect"}),
        ({}, 2e-7, {"W": 70, "K": 9, "parts": "reim"}),
        ({}, 5e-7, {"W": 5, "K": 33, "parts": "power"}),
        ({}, 1e-6, {"W": 1, "K": 3, "parts": "logmag"}),
        ({}, 2e-4, {"W": 20, "K": 12, "precision": "fast"}),
        ({}, 2e-4, {"W": 20, "K": 12, "precision": "fast", "parts": "reim"}),
        ({"limbs": 0}, 2e-7, {"W": 20, "K": 12}),  # as without tensor cores
    ],
    ids=str,
)
def test_the_dot_form(plan: plans.Plan, bound: float, o: dict[str, object]) -> None:
    x = random_bytes(2, 23)
    ends = torch.tensor([23, 9], dtype=torch.int32)
    wanted = {k: v for k, v in o.items() if k != "precision"}
    assert error(dot(x, plan, **o), reference(x, **wanted)) < bound
    assert error(dot(x, plan, ends, **o), reference(x, lengths=ends, **wanted)) < bound


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_output(dtype: torch.dtype) -> None:
    x, o = random_bytes(1, 17), {"W": 20, "K": 12}
    found = dot(x, {}, dtype=dtype, **o)
    assert found.dtype == dtype
    assert error(found.float(), dot(x, {}, **o).double()) < 5e-3  # the interpreter cuts off


def test_a_position_sees_nothing_later_to_the_last_bit() -> None:
    x = random_bytes(1, 40)
    y = x.clone()
    y[0, 17] ^= 255
    o = {"W": 12, "K": 10, "parts": "reim"}
    changed = (dot(x, {}, **o) != dot(y, {}, **o)).any(-1)[0]
    assert changed.nonzero().flatten().tolist() == list(range(17, 29))


@pytest.mark.parametrize("backend", ["triton", "torch"])
def test_a_stream_is_the_whole(backend: str) -> None:
    x = random_bytes(2, 30)
    encoder = ByteSpectral(W=9, K=5, backend=backend)
    whole, state, parts = encoder(x), None, []
    for piece in x.split([1, 4, 25], dim=1):
        found, state = encoder.stream(piece, state)
        parts.append(found)
    # not bit for bit: the interpreter's products are numpy's, whose rounding depends on the row
    assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-6)


@pytest.mark.parametrize(
    ("W", "K", "count", "width", "pairs"),
    [(40, 20, 2, 16, 2), (33, 40, 1, 32, 4), (13, 50, 0, 64, 1), (16, 16, 2, 16, 1)],
)
def test_packing_on_the_device_is_the_packing(
    W: int, K: int, count: int, width: int, pairs: int
) -> None:
    spec = make_spec(W, K, None, "mag", True)
    taps, size = dft_taps(spec).float(), pack.power_of_two(W)
    wanted = packing.arrange(taps, count, size, width, pack.shift_of(W), pairs)
    form = launch.Form(spec, torch.float32, CPU, {"limbs": count})
    form.chunk, form.chunks, form.pairs = width, -(-K // width), pairs
    found = form.pack(taps)
    assert torch.equal(found.reshape(wanted.shape), wanted)


@pytest.mark.parametrize("W", [1, 3, 16, 64, 128, 256, 1000])
@pytest.mark.parametrize("window", ["tail", "rect"])
def test_taps_rounded_once_have_their_headroom(W: int, window: str) -> None:
    spec = make_spec(W, 256, None, "reim", True, "fast")
    factor = pack.headroom(spec, window)
    assert 1 <= factor < 2
    whole = packing.padded(dft_taps(spec, window), W, 256, pack.shift_of(W)) * factor
    assert error(pack.limbs(whole, 1)[0], whole) < 2e-4
    assert pack.headroom(make_spec(W, 256, None, "reim", True), window) == 1


@pytest.mark.parametrize("W", [64, 128, 4096])
def test_limbs_keep_what_the_modes_promise(W: int) -> None:
    spec = make_spec(W, 64, None, "mag", True)
    whole = packing.padded(dft_taps(spec), W, 64, pack.shift_of(W))
    assert float(whole.abs().max()) < 4
    for count, bound in ((1, 2.5e-4), (2, 2e-7)):
        again = sum(part.double() for part in pack.limbs(whole, count))
        assert error(again, whole) < bound


@pytest.mark.parametrize("parts", ["mag", "reim"])
def test_rounding_the_taps_is_bounded_for_all_bytes(parts: str) -> None:
    """The bound is reached by some numbers, and by no byte alone or repeated."""
    spec = make_spec(20, 16, None, parts, True, "fast")
    bound = packing.worst_error(spec, "tail")
    taps = dft_taps(spec)
    scale = pack.headroom(spec, "tail") * 2.0 ** pack.shift_of(20) / 255
    apart = (taps.float() * scale).half().double() / scale - taps
    worst = torch.linalg.svd(torch.linalg.pinv(taps) @ apart).U[:, 0] @ torch.linalg.pinv(taps)
    assert float((worst @ apart).norm() / (worst @ taps).norm()) == pytest.approx(bound)
    x = torch.arange(0, 256, 17, dtype=torch.uint8)[:, None].repeat(1, 3)
    o = {"W": 20, "K": 16, "parts": parts, "precision": "fast"}
    for length in (1, 3):
        found = dot(x[:, :length], {}, **o)
        wanted = reference(x[:, :length], W=20, K=16, parts=parts)
        assert 1e-5 < error(found[:, -1], wanted[:, -1]) <= bound + 5e-7 < 5e-4


@pytest.mark.parametrize("parts", ["mag", "logmag", "power", "reim"])
@pytest.mark.parametrize("block", [1, 1 << 26])
def test_the_gradient_of_taps(parts: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "BLOCK", block)
    x, o = random_bytes(2, 21), {"parts": parts, "lengths": torch.tensor([21, 6])}
    taps = dft_taps(make_spec(20, 9, None, parts, True)).requires_grad_()
    upstream = torch.randn(2, 21, 18 if parts == "reim" else 9)
    wanted = byte_spectral_taps(x, taps, dtype=torch.float64, backend="torch", **o)
    given = taps.detach().float().requires_grad_()
    out = byte_spectral_taps(x, given, backend="triton", **o)
    (found,) = torch.autograd.grad(out, given, upstream, retain_graph=True)
    (wanted,) = torch.autograd.grad(wanted, taps, upstream.double())
    assert error(found, wanted) < 1e-5
    assert torch.equal(found, torch.autograd.grad(out, given, upstream)[0])


@pytest.mark.parametrize("parts", ["mag", "logmag", "power", "reim"])
def test_the_gradient_behind_a_spectrum(parts: str) -> None:
    spectrum = torch.randn(3, 8, dtype=torch.float64)
    spectrum[0, [1, 5]] = 0
    upstream = torch.randn(3, 8 if parts == "reim" else 4, dtype=torch.float64)
    leaf = spectrum.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(select(leaf, parts), leaf, upstream)
    assert torch.allclose(before_select(spectrum, upstream, parts), wanted)


def test_the_gradient_of_a_window() -> None:
    x, o = random_bytes(1, 18), {"W": 20, "K": 6}
    window = torch.rand(20, requires_grad=True)
    (found,) = torch.autograd.grad(
        byte_spectral(x, window=window, backend="triton", **o).square().sum(), window
    )
    (wanted,) = torch.autograd.grad(reference(x, window=window, **o).square().sum(), window)
    assert error(found, wanted.double()) < 1e-5


def test_the_fused_linear_layer() -> None:
    x, ends = random_bytes(2, 19), torch.tensor([19, 5])
    weight = (torch.randn(24, 12) / 4).half().requires_grad_()
    bias = torch.randn(24).half().requires_grad_()
    o = {"W": 20, "backend": "triton", "precision": "exact", "lengths": ends}
    found = byte_spectral_linear(x, weight, bias, **o)
    features = reference(x, W=20, K=12, lengths=ends)
    wanted = torch.nn.functional.linear(features, weight.double(), bias.double())
    assert error(found, wanted) < 1e-3
    d_weight, d_bias = torch.autograd.grad(found.float().sum(), (weight, bias))
    assert error(d_weight, features.sum((0, 1)).expand(24, -1)) < 2e-3
    assert error(d_bias, torch.full((24,), 38.0, dtype=torch.float64)) < 1e-3
    unfused = byte_spectral_linear(x, weight, bias, **{**o, "backend": "torch"})
    assert error(unfused.double(), wanted) < 1e-3


def test_operators_keep_their_word() -> None:
    x, taps = random_bytes(1, 9), torch.randn(16, 8, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.library.opcheck(
            ops.encode,
            (x, None, "16 4 8 mag 1 exact", "tail", torch.float32, 0),
            test_utils=("test_schema", "test_faketensor", "test_autograd_registration"),
        )
        torch.library.opcheck(
            ops.taps_forward,
            (x, taps, None, "16 4 8 reim 1 exact", torch.float32),
            test_utils=("test_schema", "test_faketensor", "test_autograd_registration"),
        )


def test_tracing_and_export() -> None:
    x, o = random_bytes(1, 9), {"W": 8, "K": 4, "backend": "triton"}
    wanted = byte_spectral(x, **o)
    traced = torch.compile(lambda v: byte_spectral(v, **o) * 2, backend="eager", fullgraph=True)
    assert torch.equal(traced(x), wanted * 2)
    exported = torch.export.export(ByteSpectral(W=8, K=4, backend="triton"), (x,))
    assert torch.equal(exported.module()(x), wanted)
    assert any("byte_spectral" in str(node.target) for node in exported.graph.nodes)


def test_autocast_makes_the_layer_half_precision() -> None:
    x = random_bytes(1, 9)
    module = ByteSpectral(W=8, K=16, project=16, backend="torch")
    assert module(x).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert module(x).dtype == torch.bfloat16


def test_taps_that_learn_start_as_the_transform() -> None:
    x = random_bytes(1, 9)
    for learnable in ("taps", "window"):
        module = ByteSpectral(W=8, K=5, learnable=learnable)
        assert [name for name, _ in module.named_parameters()] == [learnable]
        assert error(module(x).detach(), reference(x, W=8, K=5)) < 1e-6
    out = byte_spectral_taps(x, dft_taps(make_spec(8, 5, None, "mag", True)))
    assert error(out, reference(x, W=8, K=5)) < 1e-6

"""The public encoder on a real GPU: `python -m pytest tests/gpu/test_encoder.py`. Not part of CI."""

from __future__ import annotations

import os
import time

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from on_gpu import error, gradients, random_bytes

from byte_spectral import (
    ByteSpectral,
    byte_spectral,
    byte_spectral_linear,
    byte_spectral_taps,
    reference,
)
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps

BOUNDS = {"exact": 1e-6, "fast": 2.5e-4}  # on random bytes
TYPES = {torch.float32: 0.0, torch.bfloat16: 2.5e-3, torch.float16: 4e-4}


CASES = [
    # B, T, K, N, W
    (3, 1001, 256, None, 64), (2, 77, 100, None, 64), (5, 300, 7, 33, 5), (33, 1024, 256, None, 64),
    (2, 900, 128, None, 128), (2, 700, 64, 100, 200), (3, 1025, 256, None, 256),
    (2, 3000, 256, None, 1024), (2, 2000, 100, 300, 777), (1, 5000, 64, None, 4096),
    (70, 33, 512, None, 64), (4, 128, 1, 4, 1),
]  # fmt: skip


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_error_against_float64(case: tuple[int, ...], precision: str) -> None:
    B, T, K, N, W = case
    x = random_bytes(B, T)
    for parts in ("mag", "reim", "power"):
        for causal in (True, False):
            o = {"W": W, "K": K, "N": N, "parts": parts, "causal": causal, "precision": precision}
            bound = BOUNDS[precision] * (2 if parts == "power" else 1)
            assert error(byte_spectral(x, **o), reference(x, **o)) <= bound, o


@pytest.mark.parametrize("parts", ["mag", "reim"])
def test_no_bytes_are_worse_than_what_rounding_the_taps_can_do(parts: str) -> None:
    """Single bytes, steady rows, and rows whose newest bytes are near the middle: each position."""
    bound = {"mag": 2.959e-4, "reim": 2.779e-4}[parts]  # `packing.worst_error`
    x = torch.arange(256, dtype=torch.uint8, device="cuda").unsqueeze(1).repeat(1, 64)
    x = torch.cat([x, torch.where(torch.arange(64, device="cuda") < 16, x, 128)])
    for precision, most in (("fast", bound + 5e-7), ("exact", 1e-6)):
        o = {"parts": parts, "precision": precision}
        for newest in (1, 2, 64):
            found, wanted = (
                f(x[:, :newest], **o)[:, -1].double() for f in (byte_spectral, reference)
            )
            apart = (found - wanted).norm(dim=1) / wanted.norm(dim=1)
            assert float(apart[: 256 if precision == "exact" else 512].max()) <= most


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("W", [64, 1024])
def test_output_types(dtype: torch.dtype, W: int) -> None:
    x = random_bytes(3, 1111)
    for parts in ("mag", "reim", "logmag"):
        wanted = reference(x, W=W, parts=parts)
        found = byte_spectral(x, W=W, parts=parts, dtype=dtype)
        assert found.dtype == dtype
        assert error(found, wanted) <= 3e-6 + TYPES[dtype]  # of logmag; near X = 0 errors grow


@pytest.mark.parametrize("W", [64, 200, 1024])
@pytest.mark.parametrize("parts", ["mag", "logmag", "reim"])
def test_lengths_and_rows_that_are_apart(W: int, parts: str) -> None:
    wide = random_bytes(4, 1500)
    x = wide[:, 3:1400]
    lengths = torch.tensor([1397, 0, 1, 700], device="cuda")
    for causal in (True, False):
        o = {"W": W, "parts": parts, "causal": causal, "lengths": lengths}
        found = byte_spectral(x, **o)
        assert error(found, reference(x, **o)) <= 2e-6
        assert float(found[1].abs().max()) == 0


@pytest.mark.parametrize("W", [64, 128, 1024])
@pytest.mark.parametrize("precision", BOUNDS)
def test_no_position_sees_a_later_byte(W: int, precision: str) -> None:
    x = random_bytes(2, 2300)
    y = x.clone()
    y[:, 100] ^= 255
    a, b = (byte_spectral(v, W=W, precision=precision, parts="reim") for v in (x, y))
    assert torch.equal(a[:, :100], b[:, :100])
    assert not torch.equal(a[:, 100], b[:, 100])
    if W < 257:
        assert torch.equal(a[:, 100 + W :], b[:, 100 + W :])


def test_the_same_bits_every_time() -> None:
    x = random_bytes(8, 2048)
    for o in ({}, {"precision": "fast"}, {"W": 1024}, {"dtype": torch.bfloat16}):
        assert torch.equal(byte_spectral(x, **o), byte_spectral(x, **o))


def test_a_stream_is_the_whole() -> None:
    x = random_bytes(3, 1000)
    for W, exact in ((64, True), (1024, False)):
        encoder = ByteSpectral(W=W)
        whole, state, parts = encoder(x), None, []
        for piece in x.split([1, 7, 500, 492], dim=1):
            found, state = encoder.stream(piece, state)
            parts.append(found)
        joined = torch.cat(parts, dim=1)
        assert torch.equal(joined, whole) if exact else error(joined, whole) <= 1e-6


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("parts", ["mag", "logmag", "power", "reim"])
@pytest.mark.parametrize("W", [64, 50, 200])
def test_gradient_of_taps(parts: str, W: int, precision: str) -> None:
    found, right = gradients(random_bytes(3, 901), 96, W, parts=parts, precision=precision)
    assert error(found, right) <= (9e-4 if parts == "logmag" else 3e-5)


def test_gradient_of_the_window() -> None:
    x = random_bytes(2, 500)
    w = torch.rand(64, device="cuda", requires_grad=True)
    (found,) = torch.autograd.grad(byte_spectral(x, window=w).square().sum(), w)
    v = w.detach().double().requires_grad_()
    (right,) = torch.autograd.grad(reference(x, window=v).square().sum(), v)
    assert error(found, right) <= 1e-4


@pytest.mark.parametrize("width", [256, 100, 512, 64])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("precision", BOUNDS)
def test_fused_linear_layer(width: int, dtype: torch.dtype, precision: str) -> None:
    x = random_bytes(3, 777)
    weight = (torch.randn(width, 256, device="cuda") / 16).to(dtype).requires_grad_()
    bias = torch.randn(width, device="cuda", dtype=dtype, requires_grad=True)
    lengths = torch.tensor([777, 0, 300], device="cuda")
    for shape in ((40, 1024), (34, 1001)):  # several tiles a program; rows that end in a tile
        many = random_bytes(*shape)
        wanted = reference(many, dtype=torch.float32) @ weight.detach().float().T + bias.float()
        found = byte_spectral_linear(many, weight, bias, precision=precision)
        assert error(found.detach(), wanted.detach()) <= 6e-3
    for given in (None, lengths):
        out = byte_spectral_linear(x, weight, bias, precision=precision, lengths=given)
        features = reference(x, lengths=given)
        wanted = torch.nn.functional.linear(features, weight.double(), bias.double())
        assert error(out, wanted) <= 6e-3
    d_weight, d_bias = torch.autograd.grad(out.float().sum(), (weight, bias))
    assert error(d_weight, features.sum((0, 1)).expand(width, -1)) <= 1e-2
    assert error(d_bias, torch.full_like(bias, 3 * 777)) <= 1e-2
    for K in (32, 96):  # an odd number of chunks
        narrow = (torch.randn(width, K, device="cuda") / 16).to(dtype)
        found = byte_spectral_linear(x, narrow, precision=precision)
        assert error(found, reference(x, K=K) @ narrow.double().T) <= 6e-3
    reim = torch.randn(32, 128, device="cuda", dtype=dtype)
    out = byte_spectral_linear(x, reim, parts="reim")
    assert error(out, reference(x, K=64, parts="reim") @ reim.double().T) <= 6e-3


def test_graphs_and_compilers() -> None:
    x = random_bytes(4, 512)
    wanted = byte_spectral(x)
    compiled = torch.compile(lambda v: byte_spectral(v) * 2, fullgraph=True)
    assert torch.equal(compiled(x), wanted * 2)
    taps = dft_taps(make_spec(64, 64, None, "mag", True)).float().cuda().requires_grad_()
    step = torch.compile(lambda v, c: byte_spectral_taps(v, c).square().mean(), fullgraph=True)
    step(x, taps).backward()
    assert float(taps.grad.abs().sum()) > 0
    exported = torch.export.export(ByteSpectral(), (x,))
    assert torch.equal(exported.module()(x), wanted)
    held = x.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = byte_spectral(held)
    held.copy_(random_bytes(4, 512, seed=9))
    graph.replay()
    assert torch.equal(out, byte_spectral(held))
    with torch.autocast("cuda", torch.bfloat16):
        module = ByteSpectral(project=128, precision="fast").cuda()
        assert module(x).dtype == torch.bfloat16
        assert byte_spectral(x).dtype == torch.float32


def test_a_launch_waits_for_what_wrote_the_bytes() -> None:
    """Programmatic launches start early; the bytes of the launch before must still be seen."""
    source = [random_bytes(16, 1024, seed=i) for i in range(8)]
    held = torch.empty_like(source[0])
    found = []
    for piece in source:
        held.copy_(piece)
        found.append(byte_spectral(held))
    for piece, out in zip(source, found, strict=True):
        assert torch.equal(out, byte_spectral(piece))


@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="time is taken alone")
@pytest.mark.parametrize("o", [{}, {"W": 1024}, {"dtype": torch.bfloat16}], ids=str)
def test_host_time_of_a_call(o: dict[str, object]) -> None:
    x = random_bytes(4, 64)
    for _ in range(50):
        byte_spectral(x, **o)
    torch.cuda.synchronize()
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(50):
            byte_spectral(x, **o)
        times.append((time.perf_counter() - begin) / 50 * 1e6)
        torch.cuda.synchronize()
    times.sort()
    print(f"host time of a call {o}: {times[0]:.1f} us least, {times[10]:.1f} us median")
    assert times[10] < (35 if "W" not in o else 50)

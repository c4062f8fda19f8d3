"""The forms that only sm_90 has, and where they leave the call to others: on a real H100 or H200."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest
import torch

if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("no GPU of compute capability 9.0", allow_module_level=True)

from on_gpu import error, gradients, random_bytes

from byte_spectral import (
    byte_spectral,
    byte_spectral_linear,
    byte_spectral_taps,
    choose,
    plans,
    reference,
)
from byte_spectral.launch import Dot
from byte_spectral.launch_gluon import Walking
from byte_spectral.spec import make_spec

GPU = torch.device("cuda", 0)
BOUNDS = {"exact": 1e-6, "fast": 2e-4}  # of "mag"
WORSE = {"mag": 1, "power": 2, "logmag": 5}  # of which the error near X = 0 counts for more


@pytest.fixture
def with_plan() -> Iterator[Any]:
    """Changes the plan of a kind of kernel."""
    real = plans.plan

    def change(name: str, options: plans.Plan) -> None:
        def plan(kind: str, *what: Any) -> plans.Plan | None:
            found = real(kind, *what)
            return found | options if found is not None and kind == name else found

        stack.enter_context(mock.patch.object(plans, "plan", plan))
        choose.forget()

    with ExitStack() as stack:
        yield change
    choose.forget()


# --- the gradient of taps


GRADIENTS = [  # B, T, K, W
    (2, 1024, 256, 64), (33, 1024, 256, 64), (3, 901, 96, 64), (1, 1, 256, 64), (2, 63, 128, 50),
    (1, 7000, 7, 5), (70, 64, 512, 64),
]  # fmt: skip


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("parts", ["mag", "logmag", "power"])
@pytest.mark.parametrize("case", GRADIENTS, ids=str)
def test_gradient(case: tuple[int, ...], parts: str, precision: str) -> None:
    B, T, K, W = case
    found, right = gradients(random_bytes(B, T), K, W, parts=parts, precision=precision)
    assert error(found, right) <= (9e-4 if parts == "logmag" else 3e-5)


@pytest.mark.parametrize("options", [
    {"be": 128, "warps": 8}, {"bm": 32, "splits": 99}, {"splits": 3},
], ids=str)  # fmt: skip
def test_gradient_with_other_plans(options: plans.Plan, with_plan: Any) -> None:
    with_plan("hopper_gradient", options)
    for B, T in ((32, 1024), (3, 901)):
        found, right = gradients(random_bytes(B, T), 256, 64)
        assert error(found, right) <= 3e-5


def test_gradient_of_upstreams_and_rows_of_other_kinds() -> None:
    wide = random_bytes(4, 1500)
    for x in (wide[:, 3:1027], wide[:, 1:1002], wide[1:, :1024]):
        assert error(*gradients(x, 256, 64)) <= 3e-5
    for dtype in (torch.bfloat16, torch.float16):
        assert error(*gradients(wide, 256, 64, dtype=dtype)) <= 3e-5
    taps = torch.zeros(64, 512, device="cuda", requires_grad=True)  # X = 0: the gradient is 0
    byte_spectral_taps(wide, taps).sum().backward()
    assert float(taps.grad.abs().max()) == 0


@pytest.mark.parametrize("given", [
    {"parts": "reim"}, {"W": 65}, {"W": 200}, {"causal": False}, {"lengths": [901, 0, 300]},
], ids=str)  # fmt: skip
def test_gradient_of_every_kind(given: dict[str, Any]) -> None:
    o = dict(given)
    W, parts, causal = o.pop("W", 64), o.pop("parts", "mag"), o.pop("causal", True)
    lengths = torch.tensor(o["lengths"], device="cuda") if "lengths" in o else None
    found, right = gradients(random_bytes(3, 901), 96, W, parts=parts, causal=causal,
                             lengths=lengths)  # fmt: skip
    assert error(found, right) <= 3e-5


# --- windows that go on


def form_of(dtype: torch.dtype = torch.float32, size: int = 2, **o: Any) -> Any:
    o = {"W": 1024, "K": 256, "N": None, "parts": "mag", "causal": True, "precision": "exact",
         "window": "tail", "has_lengths": False} | o  # fmt: skip
    spec = make_spec(o["W"], o["K"], o["N"], o["parts"], o["causal"], o["precision"])
    return type(choose.form(spec, dtype, GPU, o["window"], o["has_lengths"], size))


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("parts", ["mag", "logmag", "power", "reim"])
@pytest.mark.parametrize("case", [
    (2, 3072, 256, None, 1024), (3, 1001, 256, None, 1024), (1, 1, 128, None, 1024),
    (2, 2500, 64, 512, 512), (5, 4096, 256, None, 2048), (2, 4999, 64, 128, 2048),
    (33, 1024, 512, None, 1024), (3, 2500, 256, None, 257), (2, 5000, 100, 77, 4096),
    (40, 1024, 320, None, 300), (33, 1024, 256, None, 256),
], ids=str)  # fmt: skip
def test_walk(case: tuple[int, ...], parts: str, precision: str) -> None:
    B, T, K, N, W = case
    x = random_bytes(B, T)
    o = {"W": W, "K": K, "N": N, "parts": parts, "precision": precision}
    assert form_of(**o) is Walking
    found = byte_spectral(x, **o)
    assert error(found, reference(x, **o)) <= BOUNDS[precision] * WORSE.get(parts, 1)
    assert torch.equal(found, byte_spectral(x, **o))


@pytest.mark.parametrize("options", [
    {"be": 32, "warps": 4}, {"warps": 16, "turns": 16, "registers": 128, "lane": 1}, {"warps": 4, "steps": 32},
    {"be": 32, "steps": 16, "warps": 4}, {"be": 32, "steps": 16, "warps": 8}, {"byte_limbs": 2},
    {"be": 64, "lane": 4, "turns": 4}, {"ahead": False, "registers": 128},
], ids=str)  # fmt: skip
def test_walk_with_other_plans(options: plans.Plan, with_plan: Any) -> None:
    with_plan("walk", options)
    for B, T, W in ((3, 2048, 1024), (2, 1500, 509), (2, 1500, 256)):
        x = random_bytes(B, T)
        found = byte_spectral(x, W=W, precision="fast")
        assert error(found, reference(x, W=W)) <= 2e-4


def test_walk_by_either_form(with_plan: Any) -> None:
    x = random_bytes(4, 3000)
    found, right = byte_spectral(x, W=1024), reference(x, W=1024)
    with_plan("walk", {"window": 5000})
    assert form_of() is Dot
    other = byte_spectral(x, W=1024)
    assert not torch.equal(found, other)
    assert error(other, right) <= 1e-6
    assert error(found, right) <= 1e-6


@pytest.mark.parametrize("at", [0, 100, 1023, 1024, 2400])
@pytest.mark.parametrize("W", [1024, 300])
def test_walk_sees_no_later_byte(W: int, at: int) -> None:
    x = random_bytes(2, 2500)
    y = x.clone()
    y[:, at] ^= 255
    for precision in BOUNDS:
        a, b = (byte_spectral(v, W=W, precision=precision) for v in (x, y))
        assert torch.equal(a[:, :at], b[:, :at])
        assert not torch.equal(a[:, at], b[:, at])


@pytest.mark.parametrize("given", [
    {"window": "rect"}, {"causal": False}, {"W": 1025}, {"K": 100, "N": 512},
    {"lengths": [2500, 0, 1300]}, {"window": "rect", "lengths": [7, 0, 1300], "parts": "logmag"},
], ids=str)  # fmt: skip
def test_walk_of_every_kind(given: dict[str, Any]) -> None:
    o = {"W": 1024, **given}
    lengths = torch.tensor(o.pop("lengths"), device="cuda") if "lengths" in o else None
    assert form_of(**o, has_lengths=lengths is not None) is Walking
    x = random_bytes(3, 2500)
    found = byte_spectral(x, **o, lengths=lengths)
    assert error(found, reference(x, **o, lengths=lengths)) <= 2e-6


# --- taps in more chunks than the first tile takes one by one


@pytest.mark.parametrize("precision", BOUNDS)
def test_encode_in_many_chunks(precision: str) -> None:
    for B, T in ((40, 1024), (3, 1001)):
        x = random_bytes(B, T)
        for K, W in ((1024, 16), (600, 16), (512, 64), (256, 64), (64, 64), (320, 128), (160, 200)):
            o = {"K": K, "W": W, "precision": precision}
            assert error(byte_spectral(x, **o), reference(x, **o)) <= BOUNDS[precision] * 1.3, o


@pytest.mark.parametrize("K", [256, 288, 320, 32])
def test_encode_in_many_chunks_before_a_linear_layer(K: int) -> None:
    weight = (torch.randn(128, K, device="cuda") / 16).bfloat16()
    for B, T in ((40, 1024), (3, 777)):
        x = random_bytes(B, T)
        found = byte_spectral_linear(x, weight)
        assert error(found, reference(x, K=K) @ weight.double().T) <= 6e-3


def test_encode_again_and_again() -> None:
    """Launches overlap; a barrier too few would show sooner or later."""
    x = random_bytes(32, 1024)
    for o in ({}, {"precision": "fast"}, {"precision": "fast", "dtype": torch.bfloat16},
              {"W": 128}, {"W": 1024}):  # fmt: skip
        wanted = byte_spectral(x, **o)
        torch.cuda.synchronize()
        found = [byte_spectral(x, **o) for _ in range(40)]
        assert all(torch.equal(each, wanted) for each in found)


# --- what rows, lengths and matrices may be


@pytest.mark.parametrize("W", [40, 64])
@pytest.mark.parametrize("causal", [True, False])
def test_lengths_past_the_end_of_a_row(W: int, causal: bool) -> None:
    x, o = random_bytes(3, 700), {"W": W, "K": 96, "causal": causal}
    for found in ([900, 3, 700], [2**40, -1, 701]):
        lengths = torch.tensor(found, device="cuda")
        right = reference(x, lengths=lengths, **o)
        assert error(byte_spectral(x, lengths=lengths, **o), right) <= 1e-6
        apart = torch.stack([lengths, lengths * 0], 1)[:, 0]
        assert error(byte_spectral(x, lengths=apart, **o), right) <= 1e-6


def test_lengths_at_any_address() -> None:
    """Rows of one byte, whose lengths are read side by side."""
    x = random_bytes(4096, 1)
    wide = torch.ones(4100, dtype=torch.int32, device="cuda")
    for first in (0, 1, 3, 4):  # the first call compiles for lengths at a multiple of 16 bytes
        lengths = wide[first : first + 4096]
        for o in ({}, {"parts": "logmag"}, {"W": 1024}):
            found = byte_spectral(x, lengths=lengths, **o)
            assert error(found, reference(x, lengths=lengths, **o)) <= 1e-5


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("D", "K", "first"), [(64, 96, 1), (24, 40, 3), (128, 256, 5), (1, 8, 0), (1, 40, 5)]
)
def test_a_matrix_that_is_part_of_another(D: int, K: int, first: int, kind: torch.dtype) -> None:
    x = random_bytes(3, 777)
    flat = (torch.randn(D * K + first, device="cuda") / K**0.5).to(kind)[first:]
    weight = flat.as_strided((D, K), (K if D > 1 else 1, 1))
    bias = torch.randn(2 * D, device="cuda").to(kind)[::2]
    for _ in range(2):  # compiled, and as it was compiled
        found = byte_spectral_linear(x, weight, bias)
        assert error(found, reference(x, K=K) @ weight.double().T + bias.double()) <= 6e-3


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(
    ("D", "K", "T"), [(256, 256, 777), (24, 40, 777), (320, 96, 777), (64, 64, 1), (256, 256, 1)]
)
def test_embedding_and_spectrum_in_one_kernel(D: int, K: int, T: int, gated: bool) -> None:
    x = random_bytes(33, T)
    given = [(torch.randn(n, device="cuda") / K**0.5).bfloat16() for n in ((D, K), (D,), (256, D))]
    weight, bias, table = (each.requires_grad_() for each in given)
    found = byte_spectral_linear(x, weight, bias, embedding=table, gated=gated)
    exact = [each.detach().double().requires_grad_() for each in given]
    wanted, rows = reference(x, K=K) @ exact[0].T + exact[1], exact[2][x.long()]
    wanted = rows * wanted.sigmoid() if gated else rows + wanted
    assert error(found.detach(), wanted.detach()) <= 6e-3
    upstream = torch.randn_like(found)
    again = [torch.autograd.grad(found, given, upstream, retain_graph=True) for _ in range(2)]
    right = torch.autograd.grad(wanted, exact, upstream.double())
    for one, same, other in zip(*again, right, strict=True):
        assert torch.equal(one, same)
        assert error(one, other) <= 1e-2


def test_a_plan_of_more_programs_than_have_room(with_plan: Any) -> None:
    """Four programs of 128 KiB of taps do not fit a multiprocessor; one does."""
    with_plan("hopper", {"split": 4, "per_sm": 4})
    with_plan("walk", {"window": 257})
    x = random_bytes(4, 1000)
    assert error(byte_spectral(x, W=256, K=1024), reference(x, W=256, K=1024)) <= 1e-6

"""The identities of the definition, on the float64 reference; and PyTorch's form held to it."""

from __future__ import annotations

import math

import pytest
import torch
from compare import error, random_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from byte_spectral import byte_spectral, byte_spectral_taps, reference
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps, twiddles, window_tensor

SIZES = st.tuples(st.integers(1, 3), st.integers(1, 60), st.integers(1, 50), st.integers(1, 30))


@settings(deadline=None, max_examples=30)
@given(sizes=SIZES, period=st.none() | st.integers(1, 80), data=st.data())
def test_pytorch_computes_the_definition(sizes: tuple[int, ...], period: int | None,
                                         data: st.DataObject) -> None:  # fmt: skip
    batch, length, W, K = sizes
    x = random_bytes(batch, length)
    ends = data.draw(st.none() | st.lists(st.integers(0, length), min_size=batch, max_size=batch))
    o = {
        "W": W, "K": K, "N": period, "lengths": None if ends is None else torch.tensor(ends),
        "parts": data.draw(st.sampled_from(("mag", "logmag", "power", "reim"))),
        "causal": data.draw(st.booleans()), "window": data.draw(st.sampled_from(("tail", "rect"))),
    }  # fmt: skip
    wanted = reference(x, **o)
    assert error(byte_spectral(x, **o), wanted) < 2e-6
    assert error(byte_spectral(x, dtype=torch.float64, **o), wanted) < 1e-12


def test_it_is_the_windowed_rfft_newest_byte_first() -> None:
    x, W, K = random_bytes(1, 40), 16, 12
    w = window_tensor("tail", W)
    frame = (x[0, 20:36].double() / 127.5 - 1).flip(0) * w / w.norm()
    wanted = torch.fft.rfft(frame, n=2 * K)[:K].abs()
    assert error(reference(x, W=W, K=K)[0, 35], wanted) < 1e-14


def test_before_the_row_is_silence_not_a_byte() -> None:
    x = random_bytes(1, 3)
    longer = torch.nn.functional.pad(x, (5, 0))  # five bytes of 0 are not nothing
    assert not torch.allclose(reference(x, W=8, K=8)[0, 0], reference(longer, W=8, K=8)[0, 5])
    s = x[0, 0].double() / 127.5 - 1
    g = 1 / window_tensor("tail", 8).norm()
    assert torch.allclose(reference(x, W=8, K=8)[0, 0], (g * s.abs()).expand(8))


def test_parseval_and_unit_variance() -> None:
    x, W, N = random_bytes(2, 50), 20, 32
    whole = reference(x, W=W, K=N, N=N, parts="power").sum(-1) / N
    w = window_tensor("tail", W)
    s = torch.nn.functional.pad(x.double() / 127.5 - 1, (W - 1, 0)).unfold(1, W, 1).flip(2)
    assert torch.allclose(whole, (s * w / w.norm()).square().sum(-1))


def test_a_shift_of_the_bytes_shifts_the_features() -> None:
    x = random_bytes(1, 60)
    later = torch.cat([random_bytes(1, 7, seed=1), x], dim=1)
    assert torch.allclose(reference(later, W=10, K=9)[:, 16:], reference(x, W=10, K=9)[:, 9:])


def test_what_magnitudes_do_not_see() -> None:
    x, o = random_bytes(1, 16), {"W": 16, "K": 16, "window": "rect"}
    assert torch.equal(reference(255 - x), reference(x))
    assert torch.allclose(reference(x.flip(1), **o)[:, -1], reference(x, **o)[:, -1])
    tail = {"W": 16, "K": 16}
    there, back = reference(x, **tail)[:, -1], reference(x.flip(1), **tail)[:, -1]
    assert error(back, there) > 0.1  # the tail window is not blind to the order


@pytest.mark.parametrize(("W", "K", "rank"), [(64, 256, 64), (64, 32, 63), (64, 16, 31)])
def test_re_and_im_are_of_limited_rank(W: int, K: int, rank: int) -> None:
    taps = dft_taps(make_spec(W, K, None, "reim", True))
    assert int(torch.linalg.matrix_rank(taps, rtol=1e-12)) == rank


def test_all_bins_give_the_bytes_back() -> None:
    x, W = random_bytes(1, 30), 16
    re, im = reference(x, W=W, K=W, N=W, parts="reim")[0, -1].chunk(2)
    w = window_tensor("tail", W)
    found = torch.fft.ifft(torch.complex(re, im)).real * w.norm() / w
    assert torch.allclose(found, (x[0, -W:].double() / 127.5 - 1).flip(0), atol=1e-9)


def test_the_newest_byte_has_weight_one_unlike_in_a_hann_window() -> None:
    assert window_tensor("tail", 64)[0] == 1
    assert 0 < window_tensor("tail", 64)[63] < 1e-3
    assert torch.hann_window(64)[0] == 0


def test_bytes_are_exact_in_half_precision() -> None:
    u = 2 * torch.arange(256) - 255
    for shift in range(14):
        scaled = u.double() / 2**shift
        assert torch.equal(scaled.half().double(), scaled)
        assert torch.equal(scaled.bfloat16().double(), scaled)
    s = torch.arange(256).double() / 127.5 - 1
    assert not torch.equal(s.half().double(), s)


def test_phases_are_reduced_as_integers() -> None:
    W, K, N = 4096, 3000, 6007
    found = twiddles(W, K, N)[4095, 2999]
    assert found == math.cos(4095 * 2999 % N * (2 * math.pi / N))


@pytest.mark.parametrize("causal", [True, False])
def test_one_byte_changes_its_window_and_nothing_else(causal: bool) -> None:
    x = random_bytes(1, 300)
    y = x.clone()
    y[0, 100] ^= 255
    o = {"W": 64, "parts": "reim", "causal": causal}
    for function in (reference, byte_spectral):
        changed = (function(x, **o) != function(y, **o)).any(-1)[0]
        first = 100 if causal else 100 - 31
        assert changed.nonzero().flatten().tolist() == list(range(first, first + 64))


def test_gradients_of_the_reference() -> None:
    x = random_bytes(2, 9)
    window = torch.rand(5, dtype=torch.float64) + 0.1
    for parts in ("mag", "logmag", "power", "reim"):
        taps = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(
            lambda c, parts=parts: byte_spectral_taps(x, c, parts=parts, dtype=torch.float64), taps
        )
        learned = window.clone().requires_grad_()
        assert torch.autograd.gradcheck(
            lambda w, parts=parts: reference(x, W=5, K=4, window=w, parts=parts), learned
        )


def test_the_gradient_at_nothing_is_zero() -> None:
    taps = torch.zeros(4, 6, requires_grad=True)
    byte_spectral_taps(random_bytes(1, 9), taps).sum().backward()
    assert taps.grad is not None
    assert torch.equal(taps.grad, torch.zeros(4, 6))


@pytest.mark.parametrize(("W", "K", "N"), [(1, 3, 6), (16, 8, 16), (37, 9, 30), (50, 20, 40)])
def test_sums_that_go_on_from_each_other_are_the_definition(W: int, K: int, N: int) -> None:
    from byte_spectral.definition import walked
    from byte_spectral.spec import make_spec

    x = torch.randint(256, (2, 120), dtype=torch.uint8)
    found = walked(x, make_spec(W, K, N))
    wanted = reference(x, W=W, K=K, N=N, parts="reim")
    assert float((found - wanted).abs().max()) < 1e-12

"""One FFT a row equals the loop of T rolled FFTs, and every position sees the whole row."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from whole_row import whole_row


def loop(x: Tensor, bins: int) -> Tensor:
    """As the published project does it: a full FFT of the rolled row for each position."""
    signal = x.double() / 127.5 - 1
    spectra = [torch.fft.fft(signal.roll(-p, dims=1))[:, :bins] for p in range(x.shape[1])]
    return torch.stack(spectra, dim=1)


def rows(seed: int, batch: int, length: int) -> Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.randint(256, (batch, length), dtype=torch.uint8, generator=source)


def distance(found: Tensor, wanted: Tensor) -> float:
    # a bin in which the row cancels is only as exact as the numbers of size 1 that were added up
    floor = 0.05 * wanted.numel() ** 0.5
    return float((found.double() - wanted).norm() / wanted.norm().clamp_min(floor))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 99), batch=st.integers(1, 3), length=st.integers(1, 70))
def test_it_is_the_loop(seed: int, batch: int, length: int) -> None:
    x, bins = rows(seed, batch, length), length // 2 + 1
    wanted = loop(x, bins)
    assert distance(whole_row(x), wanted.abs()) < 1e-5
    size, sine, cosine = whole_row(x, "phase").split(bins, -1)
    # angles mean nothing where a bin is empty; times the magnitude they are compared everywhere
    halves = torch.cat((wanted.real, wanted.imag), -1)
    assert distance(torch.cat((size * cosine, size * sine), -1), halves) < 1e-5


def test_a_long_row_keeps_its_phase() -> None:
    x = rows(0, 2, 1000)
    wanted = loop(x, 501)
    size, sine, cosine = whole_row(x, "phase", torch.float64).split(501, -1)
    halves = torch.cat((wanted.real, wanted.imag), -1)
    assert distance(torch.cat((size * cosine, size * sine), -1), halves) < 1e-13


def test_every_position_sees_a_change_of_the_last_byte() -> None:
    x = rows(1, 1, 40)
    other = x.clone()
    other[0, -1] ^= 0x55
    assert (whole_row(x) != whole_row(other)).any(dim=-1).all()


def test_a_bin_without_content_has_a_phase_that_is_a_number() -> None:
    # bytes 0 and 255 in turn: everything is in the bin T/2
    x = torch.tensor([[0, 255] * 8], dtype=torch.uint8)
    found = whole_row(x, "phase", torch.float64)
    size, sine, cosine = found.split(9, -1)
    assert found.isfinite().all()
    assert torch.allclose(sine**2 + cosine**2, torch.ones_like(sine))
    assert size[0, 0, 8] == 16

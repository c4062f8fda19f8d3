"""One FFT a row equals the loop of T rolled FFTs, and every position sees the whole row."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from byte_spectral.encoder import ByteSpectral
from byte_spectral.global_ import global_spectral


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
@given(seed=st.integers(0, 99), batch=st.integers(1, 3), length=st.integers(1, 70), data=st.data())
def test_it_is_the_loop(seed: int, batch: int, length: int, data: st.DataObject) -> None:
    bins = data.draw(st.integers(1, length))
    x = rows(seed, batch, length)
    wanted = loop(x, bins)
    assert distance(global_spectral(x, K=bins), wanted.abs()) < 1e-5
    halves = torch.cat((wanted.real, wanted.imag), -1)
    assert distance(global_spectral(x, K=bins, parts="reim"), halves) < 1e-5
    size, sine, cosine = global_spectral(x, K=bins, parts="phase").split(bins, -1)
    # angles mean nothing where a bin is empty; times the magnitude they are compared everywhere
    assert distance(torch.cat((size * cosine, size * sine), -1), halves) < 1e-5


def test_all_parts_are_of_the_same_transform() -> None:
    x = rows(4, 2, 20)
    size = global_spectral(x, parts="mag", dtype=torch.float64)
    power = global_spectral(x, parts="power", dtype=torch.float64)
    logarithm = global_spectral(x, parts="logmag", dtype=torch.float64)
    assert torch.allclose(power, size**2)
    assert torch.allclose(logarithm, torch.log(size + 1e-3))


@pytest.mark.parametrize("parts", ["mag", "reim"])
def test_the_module_has_it_as_a_mode(parts: str) -> None:
    x = rows(5, 2, 24)
    module = ByteSpectral(mode="global", K=12, parts=parts)
    assert torch.equal(module(x), global_spectral(x, K=12, parts=parts))  # type: ignore[arg-type]
    assert module(x).shape[-1] == module.features
    projected = ByteSpectral(mode="global", K=12, parts=parts, project=3)
    assert projected(x).shape == (2, 24, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "centred"}, 'mode must be "window" or "global"'),
        ({"mode": "global", "learnable": "taps"}, "nothing to learn"),
    ],
)
def test_a_mode_that_there_is_not_is_named(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ByteSpectral(**options)  # type: ignore[arg-type]


def test_the_whole_row_neither_streams_nor_ends_early() -> None:
    module = ByteSpectral(mode="global", K=4)
    with pytest.raises(ValueError, match="the whole row"):
        module.stream(rows(0, 1, 8))
    with pytest.raises(ValueError, match="the whole row"):
        module(rows(0, 1, 8), lengths=torch.tensor([4]))


def test_a_long_row_keeps_its_phase() -> None:
    x = rows(0, 2, 1000)
    wanted = loop(x, 501)
    found = global_spectral(x, parts="reim")
    assert distance(found, torch.cat((wanted.real, wanted.imag), -1)) < 1e-5
    exact = global_spectral(x, parts="reim", dtype=torch.float64)
    assert distance(exact, torch.cat((wanted.real, wanted.imag), -1)) < 1e-13


def test_every_position_sees_a_change_of_the_last_byte() -> None:
    x = rows(1, 1, 40)
    other = x.clone()
    other[0, -1] ^= 0x55
    changed = (global_spectral(x) != global_spectral(other)).any(dim=-1)
    assert changed.all()


def test_magnitudes_hold_no_position() -> None:
    found = global_spectral(rows(2, 2, 33))
    assert (found == found[:, :1]).all()


def test_a_bin_without_content_has_a_phase_that_is_a_number() -> None:
    # bytes 0 and 255 in turn: everything is in the bin T/2
    x = torch.tensor([[0, 255] * 8], dtype=torch.uint8)
    found = global_spectral(x, parts="phase", dtype=torch.float64)
    size, sine, cosine = found.split(9, -1)
    assert found.isfinite().all()
    assert torch.allclose(sine**2 + cosine**2, torch.ones_like(sine))
    assert size[0, 0, 8] == 16


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_nothing_in_nothing_out(shape: tuple[int, int]) -> None:
    x = torch.empty(shape, dtype=torch.uint8)
    assert global_spectral(x, parts="reim").shape == (*shape, 2 * (shape[1] // 2 + 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_result_has_the_type_that_was_asked_for(dtype: torch.dtype) -> None:
    assert global_spectral(rows(0, 1, 8), dtype=dtype).dtype == dtype


@pytest.mark.parametrize(
    ("x", "options", "error", "words"),
    [
        (torch.zeros(2, 4), {}, TypeError, "not torch.uint8"),
        (torch.zeros(4, dtype=torch.uint8), {}, ValueError, r"shape \(4,\)"),
        (rows(0, 1, 4), {"K": 5}, ValueError, "K is 5"),
        (rows(0, 1, 4), {"K": 0}, ValueError, "K is 0"),
        (rows(0, 1, 4), {"parts": "angle"}, ValueError, "phase, not 'angle'"),
    ],
)
def test_wrong_input_is_named(
    x: Tensor, options: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        global_spectral(x, **options)  # type: ignore[arg-type]

"""The published kernel says one number of a row: what docs/encoder.md claims of it stays proven."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch
from front_ends import normalised, published
from torch import Tensor

from byte_spectral.definition import reference

FEATURES = 4
KERNEL = Path(__file__).parent / "published_kernel.py"


@cache
def kernel(rows: bytes, length: int) -> Tensor:
    """Its features (B, T, E), by Triton's interpreter, which a process chooses when it starts."""
    done = subprocess.run(
        [sys.executable, str(KERNEL), str(length), str(FEATURES)],
        input=rows, capture_output=True, check=True, timeout=120,
        env={**os.environ, "TRITON_INTERPRET": "1"},
    )  # fmt: skip
    return torch.tensor(json.loads(done.stdout), dtype=torch.float64)


def rows(length: int) -> Tensor:
    source = torch.Generator().manual_seed(3)
    text = torch.tensor(list(b"To be, or not to be, that is the question"[:length]))
    noise = torch.randint(256, (3, length), generator=source)
    shuffled = noise[0][torch.randperm(length, generator=source)]
    return torch.stack((text, *noise, shuffled)).to(torch.uint8)


def features(length: int = 16) -> tuple[Tensor, Tensor]:
    x = rows(length)
    return x, kernel(x.numpy().tobytes(), length)


def test_it_is_the_magnitude_of_the_rows_sum() -> None:
    x, found = features()
    total = (x.double() / 127.5 - 1).sum(dim=1).abs()
    assert torch.allclose(found, total[:, None, None].expand_as(found), rtol=1e-5, atol=1e-5)
    assert found.shape == (5, 16, FEATURES)


def test_that_is_the_bin_0_of_the_whole_row() -> None:
    x, found = features()
    spectrum = torch.fft.fft(x.double() / 127.5 - 1)[:, 0].abs()
    assert torch.allclose(found[:, 0, 0], spectrum, rtol=1e-5, atol=1e-5)


def test_the_order_of_the_bytes_does_not_matter() -> None:
    _, found = features()
    assert torch.allclose(found[1], found[4], rtol=1e-5, atol=1e-5)


def test_its_features_have_rank_one() -> None:
    _, found = features()
    values = torch.linalg.svdvals(found.flatten(0, 1))
    assert values[1] < 1e-5 * values[0]


def test_the_front_end_of_that_name_is_this_kernel() -> None:
    x, found = features()
    assert torch.allclose(published(normalised(x)).double(), found[..., 0], rtol=1e-4, atol=1e-4)


def test_it_is_not_the_transform_that_it_is_named_after() -> None:
    x, found = features()
    wanted = reference(x, W=16, K=FEATURES, window="rect")
    assert (found - wanted).norm() > wanted.norm()


def test_a_row_of_another_length_than_a_power_of_two_cannot_be_run() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        kernel(bytes(12), 12)
    assert b"power of 2" in failed.value.stderr

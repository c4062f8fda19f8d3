"""The baselines of the benchmark compute the same function."""

from __future__ import annotations

import pytest
import torch
from baselines import Transform
from torch import Tensor

from byte_spectral.definition import reference


@pytest.mark.parametrize("means", ["naive", "rfft", "stft"])
@pytest.mark.parametrize(("length", "bins"), [(8, 16), (7, 16), (32, 16), (1, 4)])
def test_a_baseline_is_the_definition(means: str, length: int, bins: int) -> None:
    source = torch.Generator().manual_seed(0)
    x = torch.randint(256, (2, 40), dtype=torch.uint8, generator=source)
    found: Tensor = getattr(Transform.on(torch.device("cpu"), length, bins), means)(x)
    wanted = reference(x, W=length, K=bins)
    assert found.shape == wanted.shape
    assert (found - wanted).norm() < 1e-6 * wanted.norm()

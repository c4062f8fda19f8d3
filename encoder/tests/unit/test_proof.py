"""The proof that tritonwin's ladder finds by entry point."""

from __future__ import annotations

import re
from importlib.metadata import entry_points

import pytest
import torch

pytest.importorskip("triton")

from byte_spectral import proof


def test_it_is_registered_and_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = entry_points(group="tritonwin.rungs", name="spectral")
    assert entry.load() is proof.prove
    monkeypatch.setattr(proof, "CASES", ((1, 77, 32, 16, "reim"), (2, 40, 16, 20, "mag")))
    detail, figures = proof.prove({}, device="cpu")
    assert detail == "2 forms of the encoder agree with float64"
    assert all(isinstance(error, float) and error < 1e-6 for error in figures.values())


@pytest.mark.parametrize(("factor", "shown"), [(1.001, "error 0.001"), (float("nan"), "error nan")])
def test_a_wrong_result_is_found(
    monkeypatch: pytest.MonkeyPatch, factor: float, shown: str
) -> None:
    def wrong(x: torch.Tensor, **options: object) -> torch.Tensor:
        return proof.reference(x, W=8, K=4) * factor

    monkeypatch.setattr(proof, "byte_spectral", wrong)
    monkeypatch.setattr(proof, "CASES", ((1, 20, 8, 4, "mag"),))
    with pytest.raises(AssertionError, match=re.escape(shown)):
        proof.prove({}, device="cpu")

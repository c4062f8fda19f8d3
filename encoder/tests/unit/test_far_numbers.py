"""More than 2^31 numbers: the last program of each launch, by its addresses, without any memory.

Tensors are of device "meta"; see `watched_kernels`.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

from watched_kernels import gpu

from byte_spectral import choose, launch, plans
from byte_spectral.spec import make_spec

META = torch.device("meta")
ONE_EACH = 1 << 30  # processors, so that a program has one tile


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device=META)


MOST = launch.MOST_ROWS - 1
ROWS = {
    "one long": empty(1, MOST, dtype=torch.uint8),
    "very many": empty(MOST, 1, dtype=torch.uint8),
    "far apart": empty(1 << 40, dtype=torch.uint8).as_strided((300, 5000), ((1 << 31) + 5, 1)),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(
    "o",
    [
        {"W": 64, "K": 64},
        {"W": 50, "K": 33, "parts": "reim"},
        {"W": 300, "K": 20, "causal": False},
        {"W": 512, "K": 64},
    ],
    ids=str,
)
def test_encode(o: dict[str, Any], capability: int, rows: str) -> None:
    x, causal = ROWS[rows], o.get("causal", True)
    spec = make_spec(o["W"], o["K"], None, o.get("parts", "mag"), causal)
    lengths = empty(x.shape[0], dtype=torch.int32)
    with gpu(capability, ONE_EACH):
        for ends in (None, lengths):
            o = (torch.bfloat16, META, "tail", ends is not None, choose.size_of(x, spec.K))
            form, packed = choose.prepared(spec, *o)
            form(x, packed, ends)
            form(x, packed, ends, min(60, x.shape[1] - 1))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(("W", "K", "D"), [(64, 64, 64), (50, 33, 40)])
def test_a_linear_layer(W: int, K: int, D: int, capability: int, rows: str) -> None:
    x, spec = ROWS[rows], make_spec(W, K, None, "mag", True)
    weight, bias = empty(D, K, dtype=torch.bfloat16), empty(D, dtype=torch.bfloat16)
    with gpu(capability, ONE_EACH):
        form, packed = choose.prepared(spec, torch.bfloat16, META, "tail", False, 0, D, False)
        form(x, packed, weight=weight, bias=bias)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("W", "K", "parts"), [(64, 2048, "mag"), (50, 2049, "power")])
def test_a_gradient(W: int, K: int, parts: str, rows: str) -> None:
    x, spec, real = ROWS[rows], make_spec(W, K, None, parts, True), plans.plan

    def plan(kind: str, *what: Any) -> plans.Plan | None:
        found = real(kind, *what)
        return found | {"splits": ONE_EACH} if found is not None and "splits" in found else found

    upstream = empty(*x.shape, spec.features, dtype=torch.bfloat16)
    with gpu(90, ONE_EACH), mock.patch.object(plans, "plan", plan):
        choose.gradient(spec, META).gradient(x, empty(W, 2 * K), upstream, None)

"""The front end of a byte-level model: embedding + spectral, in one kernel where there is one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

from compare import error, random_bytes
from watched_kernels import gpu

from byte_spectral import ByteSpectral, byte_spectral_linear, reference


@pytest.mark.parametrize("capability", [75, 80, 90])
@pytest.mark.parametrize(
    ("D", "K", "o"),
    [
        (64, 96, {}),
        (24, 40, {"causal": False}),
        (320, 32, {"W": 40, "parts": "power"}),
        (64, 96, {"gated": True}),
        (24, 40, {"gated": True, "parts": "reim"}),
        (40, 32, {"parts": "reim"}),  # in two kernels
    ],
    ids=str,
)
def test_the_sum_and_its_gradient(D: int, K: int, o: dict[str, Any], capability: int) -> None:
    x = random_bytes(3, 150)
    E = 2 * K if o.get("parts") == "reim" else K
    given = [(torch.randn(n) / E**0.5).bfloat16() for n in ((D, E), (D,), (256, D))]
    weight, bias, table = (each.requires_grad_() for each in given)
    upstream = torch.randn(3, 150, D)
    with gpu(capability):
        found = byte_spectral_linear(x, weight, bias, embedding=table, **o)
        found.backward(upstream.bfloat16())
    exact = [each.detach().double().requires_grad_() for each in given]
    features = reference(x, K=K, **{name: o[name] for name in o if name != "gated"})
    wanted, rows = features @ exact[0].T + exact[1], exact[2][x.long()]
    wanted = rows * wanted.sigmoid() if o.get("gated") else rows + wanted
    wanted.backward(upstream.double())
    assert error(found, wanted) < 6e-3
    for one, other in zip(given, exact, strict=True):
        assert one.grad is not None
        assert error(one.grad, other.grad) < 1e-2


@pytest.mark.parametrize("capability", [80, 90])
def test_a_stream_in_one_kernel(capability: int) -> None:
    module = ByteSpectral(K=32, project=24, embed=True, gated=True, precision="fast").half()
    x, state, parts = random_bytes(2, 200), None, []
    with gpu(capability), torch.no_grad():
        whole = module(x)
        for piece in x.split([1, 100, 99], dim=1):
            found, state = module.stream(piece, state)
            parts.append(found)
    assert error(torch.cat(parts, dim=1), whole) < 1e-3


def test_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = ByteSpectral(K=8, project=6, embed=True), random_bytes(2, 40)
    assert set(module.state_dict()) == {"projection.weight", "projection.bias", "embedding.weight"}
    whole, state, parts = module(x), None, []
    assert module.embedding is not None
    wanted = ByteSpectral(K=8)(x) @ module.projection.weight.T + module.projection.bias
    torch.testing.assert_close(whole, wanted + module.embedding.weight[x.long()])
    for piece in x.split([1, 30, 9], dim=1):
        found, state = module.stream(piece, state)
        parts.append(found)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    whole.sum().backward()
    assert module.embedding.weight.grad is not None
    # torch.compile of PyTorch 2.11 cannot trace it
    monkeypatch.delattr(torch.amp, "is_autocast_available")
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), whole)
    with pytest.raises(ValueError, match="embed needs project"):
        ByteSpectral(embed=True)
    with pytest.raises(ValueError, match=r"embedding must be \(256, 6\)"):
        byte_spectral_linear(x, module.projection.weight, embedding=torch.ones(255, 6))

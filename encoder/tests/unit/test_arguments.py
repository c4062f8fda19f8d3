"""Wrong arguments are named; others are converted and never wrapped."""

from __future__ import annotations

import copy
import subprocess
import sys
from array import array
from typing import Any

import pytest
import torch

from byte_spectral import (
    ByteSpectral,
    StreamState,
    as_bytes,
    byte_spectral,
    byte_spectral_linear,
    byte_spectral_taps,
    choose,
    launch,
)
from byte_spectral.spec import make_spec

X = torch.arange(24, dtype=torch.uint8).reshape(2, 12)


@pytest.mark.parametrize(
    ("error", "words", "arguments"),
    [
        (TypeError, "x must be a tensor of bytes", {"x": b"abc"}),
        (TypeError, "x must be uint8, not torch.float32", {"x": X.float()}),
        (ValueError, r"x must be \(B, T\)", {"x": X[0]}),
        (ValueError, "outside 0..255: 0..256", {"x": torch.tensor([[0, 256]])}),
        (ValueError, "outside 0..255: -1..3", {"x": torch.tensor([[-1, 3]], dtype=torch.int32)}),
        (TypeError, "W must be an int, not float", {"W": 8.0}),
        (ValueError, r"W \(the window, in bytes\) must be 1..4096, not 0", {"W": 0}),
        (ValueError, "must be 1..4096, not 4097", {"W": 4097}),
        (ValueError, "K .* at least 1", {"K": 0}),
        (ValueError, "N .* must be", {"N": 0}),
        (ValueError, "parts must be one of mag, logmag, power, reim", {"parts": "phase"}),
        (ValueError, "precision must be one of exact, fast", {"precision": "half"}),
        (ValueError, "window must be one of tail, rect", {"window": "hann"}),
        (ValueError, r"window must be a real tensor of shape \(64,\)", {"window": torch.ones(63)}),
        (ValueError, "backend must be auto, triton or torch", {"backend": "cuda"}),
        (TypeError, "lengths must be an integer tensor", {"lengths": [3, 4]}),
        (ValueError, r"lengths must be \(2,\)", {"lengths": torch.tensor([3])}),
        (TypeError, "K must be an int, not NoneType", {"K": None}),
        (TypeError, "causal must be True or False, not 'no'", {"causal": "no"}),
        (TypeError, "dtype must be a type of real numbers", {"dtype": torch.int32}),
        (TypeError, "dtype must be a type of real numbers", {"dtype": "float32"}),
    ],
)
def test_wrong_arguments(error: type[Exception], words: str, arguments: dict[str, object]) -> None:
    with pytest.raises(error, match=words):
        byte_spectral(**{"x": X, **arguments})


@pytest.mark.parametrize("lacking", [1, 2**16])
def test_rows_that_a_kernel_cannot_count(lacking: int) -> None:
    """The last tile's rows are counted in 32 bits, those past the end too."""
    x = torch.zeros(1, 1, dtype=torch.uint8).expand(1, 2**31 - lacking)
    with pytest.raises(ValueError, match="bytes in one call; encode at most 21464"):
        launch.rows_and_bytes(x, 0)


def test_taps_that_a_kernel_cannot_count() -> None:
    spec = make_spec(4096, 1 << 18, None, "mag", True)
    with pytest.raises(ValueError, match="W = 4096 and K = 262144 are more taps than a kernel"):
        choose.form(spec, torch.float32, X.device, None, False, 2)


def test_wrong_taps_weights_states_and_modules() -> None:
    with pytest.raises(ValueError, match=r"taps must be \(W, 2K\)"):
        byte_spectral_taps(X, torch.ones(4, 3))
    with pytest.raises(TypeError, match="weight must be a tensor, not list"):
        byte_spectral_linear(X, [[1.0]])
    with pytest.raises(ValueError, match=r"weight \(D, E\) has E = 8"):
        byte_spectral_linear(X, torch.ones(4, 8), K=9)
    with pytest.raises(ValueError, match=r"bias must be \(4,\), as weight has rows; it is \(1,\)"):
        byte_spectral_linear(X, torch.ones(4, 8), torch.ones(1))
    with pytest.raises(ValueError, match="weight must be on cpu, where x is, not on meta"):
        byte_spectral_linear(X, torch.ones(4, 8, device="meta"))
    with pytest.raises(ValueError, match="learnable must be"):
        ByteSpectral(learnable="all")
    with pytest.raises(ValueError, match="backend must be auto"):
        ByteSpectral(backend="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"project .* must be at least 1, not 0"):
        ByteSpectral(project=0)
    with pytest.raises(ValueError, match="use causal=True"):
        ByteSpectral(causal=False).stream(X)
    with pytest.raises(ValueError, match="the state is of 3 rows"):
        ByteSpectral().stream(X, StreamState(bytes=X[:1].repeat(3, 1)))
    with pytest.raises(TypeError, match="x must be uint8, not"):
        ByteSpectral().stream(X, StreamState(bytes=X.float()))
    with pytest.raises(TypeError, match="state must be what stream"):
        ByteSpectral().stream(X, X)


LAYERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"learnable": "window", "project": 4},
    "taps": {"learnable": "taps", "project": 4},
    "taps alone": {"learnable": "taps"},
    "many bins": {"W": 64, "K": 20, "N": 32},
    "linear": {"project": 4},
    "half": {"dtype": torch.float16, "learnable": "window", "project": 4},
}


@pytest.mark.parametrize("name", LAYERS)
def test_modules_of_any_type_and_under_autocast(name: str) -> None:
    module = ByteSpectral(**LAYERS[name])
    wanted = module(X).detach().float()
    with torch.autocast("cpu", torch.bfloat16):
        found = module(X)
        found.float().sum().backward() if found.requires_grad else None
    assert all(p.grad is not None for p in module.parameters())
    # features are not made of rounded products; a linear layer is half precision
    within = 2e-2 if module.projection is not None else 1e-5
    torch.testing.assert_close(found.float(), wanted, atol=within, rtol=within)
    for kind in (torch.float16, torch.bfloat16, torch.float64):
        layer = copy.deepcopy(module).to(kind)
        found = layer(X)
        assert module.projection is None or found.dtype == kind
        torch.testing.assert_close(found.float(), wanted, atol=0.05, rtol=0.05)
    assert copy.deepcopy(module).to("meta")(X.to("meta")).shape == wanted.shape


def test_the_stream_of_a_layer_of_another_type() -> None:
    module = ByteSpectral(dtype=torch.float16, project=4)
    found, _ = module.stream(X)
    torch.testing.assert_close(found, module(X), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("o", [{}, {"N": 24}, {"window": "rect", "causal": False}], ids=str)
def test_export_with_rows_of_any_number_and_length(o: dict[str, Any]) -> None:
    """In PyTorch alone: one program for rows shorter and longer than the window, W > N too."""
    module, x = ByteSpectral(K=16, **o), X.repeat(1, 9)
    shapes = {"x": {0: torch.export.Dim("B", max=8), 1: torch.export.Dim("T", min=1, max=500)}}
    program = torch.export.export(module, (x,), dynamic_shapes=shapes).module()
    for rows in (x[:, :1], x[:, :63], x[:, :64], x.repeat(2, 4)):
        torch.testing.assert_close(program(rows), module(rows))


@pytest.mark.parametrize("backend", ["torch", "triton"])
def test_lengths_of_any_size_and_stride(backend: str) -> None:
    if backend == "triton" and not choose.INTERPRETED:
        pytest.skip("TRITON_INTERPRET=1 was not set before the first import")
    o = {"W": 9, "K": 5, "causal": False, "backend": backend}
    wanted = byte_spectral(X, **o, lengths=torch.tensor([12, 3]))
    pairs = torch.tensor([[2**63 - 1, 1], [3, 1]])
    assert torch.equal(byte_spectral(X, **o, lengths=pairs[:, 0]), wanted)
    whole = torch.tensor([2**40]).expand(2)
    assert torch.equal(byte_spectral(X, **o, lengths=whole), byte_spectral(X, **o))
    none = torch.tensor([-1, -(2**32) + 5])
    assert not byte_spectral(X, **o, lengths=none).any()


def test_integers_and_strides() -> None:
    wanted = byte_spectral(X)
    for kind in (torch.int64, torch.int32, torch.int16):
        assert torch.equal(byte_spectral(X.to(kind)), wanted)
    assert torch.equal(byte_spectral(X.T.contiguous().T), wanted)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_gives_nothing(shape: tuple[int, int]) -> None:
    x = torch.empty(shape, dtype=torch.uint8)
    assert byte_spectral(x, parts="reim").shape == (*shape, 512)
    assert byte_spectral_taps(x, torch.ones(3, 4)).shape == (*shape, 2)


def test_bytes_of_python() -> None:
    x, lengths = as_bytes([b"abc", b"", bytearray(b"hello")])
    assert (x.shape, lengths.tolist()) == ((3, 5), [3, 0, 5])
    assert bytes(x[2].tolist()) == b"hello"
    assert as_bytes(b"xy")[0].tolist() == [[120, 121]]
    with torch.device("meta"):
        assert {each.device.type for each in as_bytes(b"xy")} == {"meta"}
        assert {each.device.type for each in as_bytes(b"xy", "cpu")} == {"cpu"}
    assert as_bytes(memoryview(array("H", [258])))[0].tolist() in ([[1, 2]], [[2, 1]])
    with pytest.raises(TypeError, match=r"text\.encode"):
        as_bytes("text")  # type: ignore[arg-type]


def test_importing_the_package_imports_no_torch() -> None:
    program = (
        "import sys, byte_spectral as s; dir(s);assert not {'torch', 'triton'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120,
                   env={"PYTHONPATH": ":".join(sys.path)})  # fmt: skip

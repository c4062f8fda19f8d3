#!/usr/bin/env python3
"""Try the installed package as a user meets it: README, torch.compile, export, Hugging Face's form.

    python -m venv clean && clean/bin/pip install torch numpy kernels safetensors ./encoder
    clean/bin/python encoder/tools/installed.py

On a GPU everything runs there, and the model is trained in bfloat16. `kernels` and `safetensors`
may be missing.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import hub
import torch
from torch import Tensor, nn

import byte_spectral

ROOT = Path(__file__).resolve().parent.parent
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32


class Model(nn.Module):
    """The fused front end, and the logits of the next byte."""

    def __init__(self) -> None:
        super().__init__()
        self.front = byte_spectral.ByteSpectral(K=64, project=64, precision="fast", embed=True)
        self.head = nn.Linear(64, 256)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.front(x)))


def readme() -> str:
    """The README's lines."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    with torch.device(DEVICE):
        for block in blocks:
            exec(block, names)  # noqa: S102 - this repository's own lines
        front = names["front"]
        assert isinstance(front, byte_spectral.ByteSpectral)
        found = front(names["x"])  # its last line only makes the front end
    assert found.shape == (2, 20, 512)
    return f"{len(blocks)} blocks of the README ran on {found.device}"


def compiled() -> str:
    """Forward and backward without a graph break, beside the same model as it is."""
    model, x = Model().to(DEVICE, DTYPE), example(40)
    begin = time.perf_counter()
    whole = torch.compile(model, fullgraph=True)
    whole(x).float().square().mean().backward()
    seconds = time.perf_counter() - begin
    found = torch.cat([p.grad.flatten().float() for p in model.parameters()])
    model.zero_grad()
    model(x).float().square().mean().backward()
    wanted = torch.cat([p.grad.flatten().float() for p in model.parameters()])
    apart = float((found - wanted).norm() / wanted.norm())
    assert apart < (1e-2 if torch.bfloat16 == DTYPE else 1e-5), apart
    return f"torch.compile(fullgraph=True): {seconds:.1f} s, gradients within {apart:.1e}"


def exported() -> str:
    """One program for rows shorter and longer than the window, saved and loaded again."""
    model = Model().to(DEVICE, DTYPE).eval()
    shapes = {"x": {0: torch.export.Dim("B", max=64), 1: torch.export.Dim("T", max=4096)}}
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (example(100),), dynamic_shapes=shapes), file)
    program = torch.export.load(io.BytesIO(file.getvalue())).module()
    for length in (1, 63, 64, 200):
        assert torch.equal(program(example(length)), model(example(length)))
    return f"export: {len(file.getvalue()):,} bytes, T of 1, 63, 64 and 200 equal bit for bit"


def state() -> str:
    """A state that is tensors alone, goes into a new module, and through the hub's own form."""
    model, other = Model().to(DEVICE, DTYPE), Model().to(DEVICE, DTYPE)
    other.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(model(example(9)), other(example(9)))
    words = f"state: {', '.join(model.front.state_dict())}"
    if not all(importlib.util.find_spec(each) for each in ("huggingface_hub", "safetensors")):
        return words
    mixin = importlib.import_module("huggingface_hub").PyTorchModelHubMixin
    on_hub = type("OnHub", (Model, mixin), {})()
    with tempfile.TemporaryDirectory() as folder:
        on_hub.save_pretrained(folder)
        again = type(on_hub).from_pretrained(folder)
    x = example(9).cpu()
    assert torch.equal(on_hub(x), again(x))
    return f"{words}; from_pretrained gives the same"


def universal() -> str:
    """The layout for Hugging Face `kernels`, loaded by that package."""
    if importlib.util.find_spec("kernels") is None:
        return "kernels: not installed here"
    os.environ["HF_HUB_OFFLINE"] = "1"
    kernels = importlib.import_module("kernels")
    with tempfile.TemporaryDirectory() as folder:
        hub.lay_out(Path(folder))
        module = kernels.get_local_kernel(Path(folder))
        x = example(70)
        assert module is not byte_spectral
        assert torch.equal(module.byte_spectral(x), byte_spectral.byte_spectral(x))
        return f"kernels {kernels.__version__}: {module.__name__} loaded, equal bit for bit"


def example(length: int) -> Tensor:
    source = torch.Generator().manual_seed(length)
    return torch.randint(256, (3, length), dtype=torch.uint8, generator=source).to(DEVICE)


def main() -> int:
    where = Path(byte_spectral.__file__).parent
    assert ROOT not in where.parents, "not the installed package"
    print(f"byte_spectral {byte_spectral.__version__}, torch {torch.__version__}, {DEVICE}")
    for step in (readme, compiled, exported, state, universal):
        print(step(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

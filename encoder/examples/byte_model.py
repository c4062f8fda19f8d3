"""A small byte-level language model whose front end can be exchanged, and its test for leaks.

A position may know the bytes up to and including its own, and predicts the next one. Whether that
holds is measured, not assumed: `future_leak` changes one byte and looks at the positions before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from front_ends import ARMS
from torch import Tensor, nn


class LeakWarning(UserWarning):
    """A front end shows the model the bytes that it is asked to predict."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The transformer behind the front end; the defaults are those of docs/encoder.md."""

    layers: int = 4
    width: int = 256
    heads: int = 4
    context: int = 256
    hidden: tuple[
        int, ...
    ] = ()  # units of the MLP of each layer; four times the width unless given

    def __post_init__(self) -> None:
        """Raises ValueError for a size that there cannot be."""
        for name, least in (("layers", 1), ("width", 1), ("heads", 1), ("context", 2)):
            size = getattr(self, name)
            if size < least:
                raise ValueError(f"{name} must be at least {least}, not {size}")
        if not self.hidden:
            object.__setattr__(self, "hidden", (4 * self.width,) * self.layers)
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be shared among {self.heads} heads")


class Block(nn.Module):
    """Causal attention and an MLP, each after a LayerNorm, each added to its input."""

    def __init__(self, shape: Shape, hidden: int) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.before_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.before_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = self.qkv(self.before_attention(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.before_mlp(x))


class Body(nn.Module):
    """Everything behind the front end: positions, blocks, and 256 logits a position."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.normalise = nn.LayerNorm(shape.width)
        self.positions = nn.Parameter(0.02 * torch.randn(shape.context, shape.width))
        self.blocks = nn.ModuleList(Block(shape, hidden) for hidden in shape.hidden)
        self.last = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, 256)

    def forward(self, x: Tensor) -> Tensor:
        x = self.normalise(x) + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


class ByteModel(nn.Module):
    """Bytes, uint8 (B, T) with T <= context, to the logits of the next byte, (B, T, 256).

    Args:
        arm: a name in `ARMS`.
        shape: of the transformer.

    Raises:
        ValueError: there is no such arm.
    """

    def __init__(self, arm: str = "embedding", shape: Shape | None = None) -> None:
        super().__init__()
        if arm not in ARMS:
            raise ValueError(f"no front end is called {arm!r}; there are {', '.join(ARMS)}")
        if not ARMS[arm].causal:
            words = f"front end {arm!r} sees bytes that the model is asked to predict"
            warnings.warn(words, LeakWarning, stacklevel=2)
        self.arm = arm
        self.shape = shape or Shape()
        self.front = ARMS[arm].build(self.shape.width)
        self.body = Body(self.shape)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(self.front(x))

    def parameters_of_front(self) -> int:
        return sum(p.numel() for p in self.front.parameters())


def autocast(device: torch.device) -> torch.autocast:
    """bfloat16 on a GPU; float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


@torch.inference_mode()
def future_leak(model: ByteModel, *, draws: int = 4, seed: int = 0) -> float:
    """The largest change of any logit before a byte that was changed: exactly 0 where none leaks.

    Random rows, in the types of training; in each draw one byte of the row is changed, early, in
    the middle and late. Where nothing leaks, every number before the byte is computed from the same
    inputs by the same operations, so equality is bit for bit.
    """
    device = next(model.parameters()).device
    source = torch.Generator().manual_seed(seed)
    length = model.shape.context
    was_training = model.training
    model.eval()
    worst = 0.0
    for draw in range(draws):
        row = torch.randint(256, (1, length), generator=source, dtype=torch.uint8)
        at = 1 + (length - 1) * (draw + 1) // (draws + 1)
        other = row.clone()
        other[0, at] = (int(row[0, at]) + 97) % 256
        with autocast(device):
            before, after = (model(each.to(device))[:, :at] for each in (row, other))
        worst = max(worst, float((before - after).abs().max()))
    model.train(was_training)
    return worst


@torch.inference_mode()
def sample(
    model: ByteModel, prompt: bytes, count: int, *, temperature: float = 0.8, seed: int = 0
) -> Iterator[bytes]:
    """Continue `prompt` by `count` bytes, one at a time.

    Args:
        temperature: 0 takes the likeliest byte always.

    Raises:
        ValueError: the prompt is empty: the model has nothing to go on.
    """
    if not prompt:
        raise ValueError("the prompt is empty: give at least one byte")
    device = next(model.parameters()).device
    source = torch.Generator().manual_seed(seed)
    model.eval()
    text = list(prompt)
    for _ in range(count):
        window = torch.tensor([text[-model.shape.context :]], dtype=torch.uint8, device=device)
        logits = model(window)[0, -1].float().cpu()
        if temperature:
            chances = (logits / temperature).softmax(dim=-1)
            following = int(torch.multinomial(chances, 1, generator=source))
        else:
            following = int(logits.argmax())
        text.append(following)
        yield bytes([following])

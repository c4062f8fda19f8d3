"""Score a `ByteModel` on held-out text, and measure the worth of a leak from later bytes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import torch
from byte_model import ByteModel, autocast
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Score:
    """Bits a byte on held-out text: at all positions, and at the last one of each window.

    At its last position no front end can see the byte that is asked for, so `last` is the honest
    figure; what `all` is better by is what a leak is worth.
    """

    all: float
    last: float


def evaluate(model: ByteModel, text: Tensor, *, rows: int = 256) -> Score:
    """Score `text` (uint8, (n,)), cut into windows that do not overlap.

    Raises:
        ValueError: the text is shorter than one window.
    """
    device = next(model.parameters()).device
    context = model.shape.context
    count = (text.numel() - 1) // context
    if not count:
        raise ValueError(f"the text has {text.numel()} bytes; a window needs {context + 1}")
    text = text.to(device)
    given = text[: count * context].view(count, context)
    asked = text[1 : count * context + 1].view(count, context)
    model.eval()
    losses = [
        _losses(model, given[at : at + rows], asked[at : at + rows]) for at in range(0, count, rows)
    ]
    bits = torch.cat(losses).double() / math.log(2)
    return Score(all=bits.mean().item(), last=bits[:, -1].mean().item())


@torch.inference_mode()
def _losses(model: ByteModel, given: Tensor, asked: Tensor) -> Tensor:
    with autocast(given.device):
        logits = model(given)
    return nn.functional.cross_entropy(
        logits.transpose(1, 2).float(), asked.long(), reduction="none"
    )


def unigram_entropy(text: bytes) -> float:
    """Bits a byte of the best model that ignores all context."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)

"""The kernel that this idea was published with, written again from its description.

As described: one program for each byte; it loads the whole row without a mask, so the row's length
must be a power of two; it normalises; for each bin k it makes ONE phase, 2 * 3.14159 * k * pos / T,
takes its cosine and sine, multiplies the row with each, sums, and stores the root of the squares.

The phase does not depend on the summed index, so cosine and sine leave the sum, their squares add
up to one, and every feature of every position is |sum of the row|. `closed_form` is that number.

`python published_kernel.py LENGTH FEATURES < bytes` prints the features of rows of LENGTH bytes as
JSON, on a GPU or, with TRITON_INTERPRET=1, without one.
"""

from __future__ import annotations

import json
import os
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def byte_to_spectral(x, out, T, E: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    row = program // T
    position = program % T
    raw = tl.load(x + row * T + tl.arange(0, BLOCK))
    signal = raw.to(tl.float32) / 127.5 - 1.0
    for k in range(E):
        phase = 2.0 * 3.14159 * k * position / T
        real = tl.sum(signal * tl.cos(phase))
        imaginary = tl.sum(signal * tl.sin(phase))
        tl.store(out + program * E + k, tl.sqrt(real * real + imaginary * imaginary))


def published_kernel(x: torch.Tensor, features: int) -> torch.Tensor:
    """uint8 (B, T), T a power of two, to float32 (B, T, features)."""
    batch, length = x.shape
    out = torch.full((batch, length, features), float("nan"), device=x.device)
    byte_to_spectral[(batch * length,)](x, out, length, E=features, BLOCK=length)
    return out


def closed_form(x: torch.Tensor, features: int) -> torch.Tensor:
    """Its result in float64: one number a row."""
    total = (x.double() / 127.5 - 1).sum(dim=1).abs()
    return total[:, None, None].expand(*x.shape, features)


def main() -> None:
    length, features = (int(each) for each in sys.argv[1:3])
    x = torch.frombuffer(bytearray(sys.stdin.buffer.read()), dtype=torch.uint8).view(-1, length)
    device = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"
    json.dump(published_kernel(x.to(device), features).tolist(), sys.stdout)


if __name__ == "__main__":
    main()

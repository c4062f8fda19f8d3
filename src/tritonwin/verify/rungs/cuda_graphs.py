"""Record a kernel's launch in a CUDA graph and play it again with other numbers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

COUNT = 10_007
BLOCK = 256
REPLAYS = 5


@triton.jit
def accumulate(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(out_ptr + offsets, mask=mask) + tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def launch(x: torch.Tensor, out: torch.Tensor) -> None:
    accumulate[(triton.cdiv(COUNT, BLOCK),)](x, out, COUNT, BLOCK=BLOCK)


def prove() -> str:
    x = torch.zeros(COUNT, device="cuda")
    out = torch.zeros(COUNT, device="cuda")
    launch(x, out)  # compiled outside of the graph
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, out)
    out.zero_()
    for n in range(REPLAYS):
        x.fill_(2.0**n)
        graph.replay()
    wanted = float(2**REPLAYS - 1)
    if not bool((out == wanted).all()):
        raise AssertionError(
            f"{REPLAYS} replays should give {wanted}, they gave {out[:3].tolist()}"
        )
    return f"recorded once, played {REPLAYS} times with new numbers"

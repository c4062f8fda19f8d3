#!/usr/bin/env python3
"""A million launches, and eight threads with streams of their own; prints what it found as JSON."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from case_kernels import kernel


def launches(x: torch.Tensor, count: int) -> None:
    for _ in range(count):
        kernel[(1,)](x, x, 1, 1000, block=1024)
    torch.cuda.synchronize()


def on_a_stream(x: torch.Tensor) -> None:
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(2000):
            kernel[(1,)](x, x, 1, 1000, block=1024)


def main() -> None:
    x = torch.zeros(1024, device="cuda")
    launches(x, 1)
    free, kib = torch.cuda.mem_get_info()[0], []
    for _ in range(10):
        kib.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4)
        for _ in range(100):
            launches(x, 1000)
    device = free - torch.cuda.mem_get_info()[0]
    tensors = [torch.zeros(1024, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(on_a_stream, tensors))
    torch.cuda.synchronize()
    print(json.dumps({
        "sum": x[5].item(), "device": device, "kib": kib,
        "threads": sorted({each[7].item() for each in tensors}),
    }))  # fmt: skip


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Error texts of launches, of the driver's functions and of torch, one line a case.

errors.py values | memory DEEP LARGE | lost | forever
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import triton
from case_kernels import kernel, other, third


def tell(name: str, call: Any) -> None:
    try:
        call()
        torch.cuda.synchronize()
        print(f"{name}: no error", flush=True)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)


def values(x: torch.Tensor) -> None:
    tell("grid of 70,000 in y", lambda: kernel[(1, 70000)](x, x, 3, 1000, block=1024))
    tell("a CPU tensor", lambda: kernel[(1,)](x, torch.zeros(1024), 3, 1000, block=1024))
    tell("text for a number", lambda: kernel[(1,)](x, x, 3, "text", block=1024))
    tell("an empty grid", lambda: kernel[(0,)](x, x, 3, 1000, block=1024))
    tell("no cubin", lambda: utils.load_binary("none", b"no cubin", 0, 0))
    tell("device 99", lambda: utils.get_device_properties(99))
    tell("a FIFO of 2**62 bytes", lambda: utils.set_printf_fifo_size(2**62))
    tell("a launch afterwards", lambda: kernel[(1,)](x, x, 3, 1000, block=1024))
    print(f"sum: {x[5].item()}")


def memory(x: torch.Tensor, deep_image: bytes, large_image: bytes) -> None:
    made = next(iter(kernel.device_caches[0][0].values()))
    y = torch.zeros(1024, device="cuda")

    def launch(function: int) -> None:
        about = (made.packed_metadata, None, None, None)
        made.run(1, 1, 1, 0, function, *about, y, y, 3, 1000, 1024)

    deep = utils.load_binary("deep", deep_image, 0, 0)[1]
    kept, size = [], 2**36
    while size >= 2**12:
        try:
            kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:  # noqa: PERF203
            size //= 2
    for state in ("full", "free again"):
        tell(f"a kernel that needs 17 GB for its threads, memory {state}", lambda: launch(deep))
        tell(
            f"a module with 1 GB of data, memory {state}",
            lambda: utils.load_binary("large", large_image, 0, 0),
        )
        tell(
            f"a launch, memory {state}",
            lambda: kernel[(1,)](x, x, 3, 1000, block=1024),
        )
        new = other if state == "full" else third
        tell(f"a new kernel, memory {state}", lambda new=new: new[(1,)](x, x, 3, 1000, block=512))
        kept.clear()
        torch.cuda.empty_cache()
    print(f"sums: {x[5].item()}, {y[0].item()}")


def lost(x: torch.Tensor) -> None:
    tell("a read far behind a tensor", lambda: kernel[(2**20,)](x, x, 3, 2**30, block=1024))
    tell("a launch afterwards", lambda: kernel[(1,)](x, x, 3, 1000, block=1024))
    tell("a new kernel afterwards", lambda: other[(1,)](x, x, 3, 1000, block=512))


def forever(x: torch.Tensor) -> None:
    while True:
        kernel[(1,)](x, x, 3, 1000, block=1024)
        print("launched", flush=True)


if __name__ == "__main__":
    utils = triton.runtime.driver.active.utils
    tensor = torch.zeros(1024, device="cuda")
    kernel[(1,)](tensor, tensor, 3, 1000, block=1024)
    case: Any = {"values": values, "memory": memory, "lost": lost, "forever": forever}[sys.argv[1]]
    case(tensor, *(Path(name).read_bytes() for name in sys.argv[2:]))

#!/usr/bin/env python3
"""The encoder beside PyTorch on one GPU: `python benchmarks/bench.py OUT`.

torch.stft, one batched FFT and a loop over positions at four shapes; the gradients of a window and
of taps beside the forward pass; what a call costs the host. Everything else is timed in CUDA graphs
replayed in turn, as in tools/gpu/grid.py, whose table has the encoder alone. About 20 s.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src"), str(HERE.parent / "tools" / "gpu")]

import torch  # noqa: E402
import triton  # noqa: E402
from baselines import Transform  # noqa: E402
from grid import MODES, by_line, in_turn, random_bytes  # noqa: E402
from torch import Tensor  # noqa: E402

from byte_spectral import byte_spectral, byte_spectral_taps  # noqa: E402
from byte_spectral.spec import make_spec  # noqa: E402
from byte_spectral.taps import dft_taps, window_tensor  # noqa: E402

Shape = tuple[int, int, int, int]  # rows, bytes a row, bins, window
FIRST: Shape = (32, 1024, 256, 64)
SHAPES: tuple[Shape, ...] = (FIRST, (32, 1024, 256, 128), (8, 8192, 256, 64), (64, 512, 128, 64))
Launch = Callable[[int], Tensor]
NAMES = {"exact": "exact fp32", "fast": "fast fp32", "bf16": "fast bf16"}


def others(shape: Shape) -> dict[str, float]:
    B, T, K, W = shape
    transform = Transform.on(torch.device("cuda"), W, K)
    inputs = [random_bytes(B, T) for _ in "1234"]
    launches: dict[str, Launch] = {
        "torch.stft": lambda i: transform.stft(inputs[i % 4]),
        "torch.fft.rfft": lambda i: transform.rfft(inputs[i % 4]),
    }
    for mode, (precision, dtype) in MODES.items():
        launches[NAMES[mode]] = lambda i, p=precision, d=dtype: byte_spectral(  # type: ignore[misc]
            inputs[i % 4], W=W, K=K, precision=p, dtype=d
        )
    found = in_turn(launches, 4 * math.prod(shape[:3]))
    found["naive loop, eager"] = eager(partial(transform.naive, inputs[0]))
    if shape == FIRST:
        found |= in_turn({"naive loop, graph": lambda _: transform.naive(inputs[0])}, 1 << 30)
    return found


def gradients(shape: Shape) -> dict[str, float]:
    B, T, K, W = shape
    inputs = [random_bytes(B, T) for _ in "1234"]
    upstream = torch.randn(B, T, K, device="cuda")
    learnt = {
        "window": window_tensor("tail", W).float().cuda().requires_grad_(),
        "taps": dft_taps(make_spec(W, K)).float().cuda().requires_grad_(),
    }
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "window": lambda x: byte_spectral(x, W=W, K=K, window=learnt["window"]),
        "taps": lambda x: byte_spectral_taps(x, learnt["taps"]),
    }
    launches: dict[str, Launch] = {}
    for name, way in ways.items():

        def forward(i: int, way: Callable[[Tensor], Tensor] = way) -> Tensor:
            return way(inputs[i % 4]).detach()

        def both(i: int, way: Callable[[Tensor], Tensor] = way, name: str = name) -> Tensor:
            return torch.autograd.grad(way(inputs[i % 4]), learnt[name], upstream)[0]

        launches |= {f"{name}, forward": forward, f"{name}, forward and backward": both}
    return in_turn(launches, 4 * math.prod(shape[:3]))


def eager(call: Callable[[], object]) -> float:
    """Microseconds of a call with all that the host does."""
    times = []
    for _ in range(4):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times[1:])


def host(call: Callable[[], object], calls: int = 200) -> float:
    """Microseconds until a call returns, while the device still works."""
    times = []
    for _ in range(15):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append(1e6 * (time.perf_counter() - begin) / calls)
    return statistics.median(times[1:])


def main(out: Path) -> None:
    cases: list[dict[str, Any]] = []

    def keep(section: str, shape: Shape, found: dict[str, float]) -> None:
        for what, us in found.items():
            cases.append({"section": section, "what": what, "shape": shape, "us": us})
            print(f"{section:10} {what:28} {shape!s:22} {us:12.2f} us", flush=True)
        (out / "bench.json").write_text(
            by_line(
                {
                    "device": torch.cuda.get_device_name(),
                    "torch": torch.__version__,
                    "triton": triton.__version__,
                    "when": f"{datetime.now(timezone.utc):%Y-%m-%d}",
                    "cases": cases,
                }
            ),
            encoding="utf-8",
        )

    x = random_bytes(8, 512)
    keep("host", (8, 512, 256, 64), {
        NAMES[mode]: host(partial(byte_spectral, x, precision=precision, dtype=dtype))
        for mode, (precision, dtype) in MODES.items()
    })  # fmt: skip
    keep("gradients", FIRST, gradients(FIRST))
    for shape in SHAPES:
        keep("others", shape, others(shape))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

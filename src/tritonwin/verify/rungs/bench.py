"""The parts of `tritonwin bench`: plain kernels, the same in every Triton.

What the GPU does is timed by Triton's own `do_bench`, beside torch's work on the same numbers.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import Any, Callable

import triton
import triton.language as tl
from compile_cubin import source_of
from device import Device
from triton.backends.compiler import GPUTarget


@triton.jit
def nothing(a, b, c, n):
    pass


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """c = a @ b for row-major fp16 whose sizes are multiples of the blocks."""
    program = tl.program_id(0)
    columns = N // BLOCK_N
    band = GROUP * columns
    first = program // band * GROUP
    rows = min(M // BLOCK_M - first, GROUP)
    row = (first + program % band % rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = program % band // rows * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_at = a + row[:, None] * K + inner[None, :]
    b_at = b + inner[:, None] * N + column[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += BLOCK_K
        b_at += BLOCK_K * N
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16))


# -- compiling

_TYPES = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
_CONSTANTS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP": 8}


def compiling(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    target = GPUTarget("cuda", arguments["arch"], 32)
    parts: dict[str, float] = {}
    _time_stages(target, parts)
    cold = _seconds(target)
    seen = dict(parts)
    warm = min(_seconds(target) for _ in range(5))
    figures: dict[str, Any] = {"cold_s": round(cold, 4), "warm_s": round(warm, 5)}
    figures.update({f"{part}_s": round(seconds, 4) for part, seconds in seen.items()})
    slowest = max(seen, key=lambda part: seen[part])
    shown = f"{cold:.2f} s, of which {slowest} {seen[slowest]:.2f} s; again {warm * 1e3:.1f} ms"
    return shown, figures


def _seconds(target: GPUTarget) -> float:
    start = time.perf_counter()
    triton.compile(source_of(matmul, _TYPES, _CONSTANTS), target=target)
    return time.perf_counter() - start


def _time_stages(target: GPUTarget, parts: dict[str, float]) -> None:
    """Every Triton makes its stages in `add_stages`; what each takes is added to `parts`."""
    backend = type(triton.compiler.make_backend(target))
    original = backend.add_stages

    def add_stages(self: Any, stages: dict[str, Any], *rest: Any, **named: Any) -> Any:
        done = original(self, stages, *rest, **named)
        for name, stage in list(stages.items()):
            stages[name] = _timed(name, stage, parts)
        return done

    backend.add_stages = add_stages


def _timed(name: str, stage: Any, parts: dict[str, float]) -> Any:
    def run(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return stage(*arguments)
        finally:
            parts[name] = parts.get(name, 0.0) + time.perf_counter() - start

    return run


# -- launching


def launching() -> tuple[str, dict[str, Any]]:
    device = Device()
    buffers = [device.empty("fp32", 1024) for _ in range(3)]
    with contextlib.suppress(ImportError, AssertionError, RuntimeError):
        import torch  # Triton asks it which GPU; its own start does not count

        torch.cuda.synchronize()
    start = time.perf_counter()
    triton.runtime.driver.active.get_current_target()
    built = time.perf_counter() - start
    nothing[(1,)](*buffers, 1024)
    seconds = statistics.median(_launches(device, buffers) for _ in range(15))
    device.synchronize()
    figures = {"launch_us": round(seconds * 1e6, 2), "helper_module_s": round(built, 3)}
    return f"{seconds * 1e6:.1f} us a launch", figures


def _launches(device: Device, buffers: list[Any], count: int = 500) -> float:
    """The seconds that the processor needs for one launch, the GPU never behind."""
    device.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        nothing[(1,)](*buffers, 1024)
    return (time.perf_counter() - start) / count


# -- by Triton and by torch: bytes a second that a sum of two long vectors moves


def _seconds_of(launch: Callable[[], Any]) -> float:
    """Median of the seconds that a launch keeps the GPU busy."""
    milliseconds: float = triton.testing.do_bench(launch, return_mode="median")
    return milliseconds / 1000


_COUNT = 1 << 27  # fp32: three vectors of 512 MiB, far more than any cache
_BLOCK = 1024


def bandwidth() -> tuple[str, dict[str, Any]]:
    import torch

    count = _COUNT
    while 4 * 4 * count > torch.cuda.mem_get_info()[0] // 2:
        count //= 2
    x, y = (torch.rand(count, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    ours = _seconds_of(lambda: add[(count // _BLOCK,)](x, y, out, count, BLOCK=_BLOCK))
    if not torch.equal(out, x + y):
        raise AssertionError("the sum is wrong")
    theirs = _seconds_of(lambda: torch.add(x, y, out=out))
    moved = 3 * 4 * count
    figures = {
        "add_us": round(ours * 1e6, 2),
        "gb_per_s": round(moved / ours / 1e9, 1),
        "torch_gb_per_s": round(moved / theirs / 1e9, 1),
    }
    return f"{figures['gb_per_s']} GB/s", figures


# -- operations a second of a matrix product in fp16

_SIZE = 4096
# block M, N, K, warps, stages: by the least compute capability; what shared memory holds
_SHAPES = {
    100: (128, 256, 64, 8, 3),
    90: (128, 256, 64, 8, 3),
    86: (128, 128, 32, 8, 3),
    80: (128, 256, 32, 8, 4),
    0: (64, 128, 32, 4, 2),
}


def matrix_product(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    import torch

    n = _SIZE
    # zeros would cost less power and look faster
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    m_block, n_block, k_block, warps, stages = _shape(arguments["arch"])
    grid = (n // m_block * (n // n_block),)
    sizes = {"BLOCK_M": m_block, "BLOCK_N": n_block, "BLOCK_K": k_block, "GROUP": 8}
    ours = _seconds_of(
        lambda: matmul[grid](a, b, c, n, n, n, num_warps=warps, num_stages=stages, **sizes)
    )
    # both sum in fp32 and round once to fp16; the order of the sum differs
    wanted = torch.matmul(a, b)
    if not torch.allclose(c, wanted, rtol=2e-3, atol=0.5):
        raise AssertionError(f"off by {float((c - wanted).abs().max())}")
    theirs = _seconds_of(lambda: torch.matmul(a, b, out=c))
    figures = {
        "matmul_us": round(ours * 1e6, 2),
        "tflops": round(2 * n**3 / ours / 1e12, 1),
        "torch_tflops": round(2 * n**3 / theirs / 1e12, 1),
    }
    return f"{figures['tflops']} TFLOP/s", figures


def _shape(arch: int) -> tuple[int, ...]:
    # consumer Blackwell (sm_120) has the shared memory of Ada
    known = 86 if arch >= 120 else arch
    return _SHAPES[max(least for least in _SHAPES if least <= known)]

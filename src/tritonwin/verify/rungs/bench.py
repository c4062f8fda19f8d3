"""The parts of `tritonwin bench`: plain kernels, the same in every Triton.

The GPU's times are between two events of the driver API on the default stream, where Triton and
torch launch.
"""

from __future__ import annotations

import array
import ctypes
import os
import statistics
import struct
import time
from typing import Any, Callable

import triton
import triton.language as tl
from device import Device, torch_with_cuda
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


# -- times

_WARM_UP = 0.2  # seconds, in which the clocks of an idle GPU rise
_SAMPLE = 0.01  # seconds of GPU work between two events: their resolution is 0.5 us


class Stopwatch:
    """Times of kernels and of the processor."""

    def __init__(self, device: Device) -> None:
        self._call = device.call
        self._events = (self._event(), self._event())

    def kernel(self, launch: Callable[[], Any], samples: int = 20) -> float:
        """Median of the seconds that one launch keeps the GPU busy, launches back to back."""
        launch()
        one = self._batch(launch, 1)
        count = max(1, min(1000, int(_SAMPLE / max(one, 1e-7))))
        until = time.perf_counter() + _WARM_UP
        while time.perf_counter() < until:
            self._batch(launch, count)
        return statistics.median(self._batch(launch, count) for _ in range(samples))

    def _batch(self, launch: Callable[[], Any], count: int) -> float:
        start, end = self._events
        self._call("cuEventRecord", start, None)
        for _ in range(count):
            launch()
        self._call("cuEventRecord", end, None)
        self._call("cuEventSynchronize", end)
        milliseconds = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value / 1000 / count

    def host(self, launch: Callable[[], Any], count: int = 500, samples: int = 15) -> float:
        """Median of the seconds that the processor needs for one launch, the GPU never behind."""
        times = []
        launch()
        for _ in range(samples):
            self._call("cuCtxSynchronize")
            start = time.perf_counter()
            for _ in range(count):
                launch()
            times.append((time.perf_counter() - start) / count)
        return statistics.median(times)

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 0)
        return event


# -- compiling

_SIGNATURE = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
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
    triton.compile(_source(), target=target)
    return time.perf_counter() - start


def _source() -> Any:
    """Arguments by name; Triton before 3.2 counts them, and names constants by their place."""
    old = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2)
    signature: dict[Any, str] = dict(_SIGNATURE)
    constants: dict[Any, int] = dict(_CONSTANTS)
    if old:
        signature = dict(enumerate(_SIGNATURE.values()))
        constants = {len(signature) + n: v for n, v in enumerate(_CONSTANTS.values())}
    else:
        signature.update(dict.fromkeys(_CONSTANTS, "constexpr"))
        constants = {(len(_SIGNATURE) + n,): v for n, v in enumerate(_CONSTANTS.values())}
    return triton.compiler.ASTSource(matmul, signature, constants)


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
    start = time.perf_counter()
    triton.runtime.driver.active.get_current_target()
    built = time.perf_counter() - start
    seconds = Stopwatch(device).host(lambda: nothing[(1,)](*buffers, 1024))
    device.synchronize()
    figures = {"launch_us": round(seconds * 1e6, 2), "helper_module_s": round(built, 3)}
    return f"{seconds * 1e6:.1f} us a launch", figures


# -- memory: bytes a second that a sum of two long vectors moves, by Triton and by torch

_COUNT = 1 << 27  # fp32: three vectors of 512 MiB, far more than any cache
_BLOCK = 1024
_PART = 1 << 16


def bandwidth() -> tuple[str, dict[str, Any]]:
    device = Device()
    count = _COUNT
    while 3 * 4 * count > device.free_memory() // 2:
        count //= 2
    x, y, out = (device.empty("fp32", count) for _ in range(3))
    x.write(array.array("f", [1.5]) * count)
    y.write(array.array("f", range(_PART)) * (count // _PART))
    grid = (count // _BLOCK,)
    add[grid](x, y, out, count, BLOCK=_BLOCK)
    _check_sum(device, out, count)
    watch = Stopwatch(device)
    seconds = watch.kernel(lambda: add[grid](x, y, out, count, BLOCK=_BLOCK))
    moved = 3 * 4 * count
    figures = {
        "add_us": round(seconds * 1e6, 2),
        "gb_per_s": round(moved / seconds / 1e9, 1),
    }
    torch_seconds = _torch_sum(watch, count)
    if torch_seconds:
        figures["torch_gb_per_s"] = round(moved / torch_seconds / 1e9, 1)
    return f"{figures['gb_per_s']} GB/s", figures


def _check_sum(device: Device, out: Any, count: int) -> None:
    for start in (0, count // 2, count - _PART):
        want = array.array("f", (1.5 + n for n in range(_PART)))
        if device.computes and out.read(start, _PART) != want:
            raise AssertionError(f"the sum is wrong from element {start} on")


def _torch_sum(watch: Stopwatch, count: int) -> float | None:
    torch = torch_with_cuda()
    if torch is None:
        return None
    x, y = (torch.ones(count, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    return watch.kernel(lambda: torch.add(x, y, out=out))


# -- operations a second of a matrix product in fp16, by Triton and by torch

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
    device = Device()
    n = _SIZE
    left, right = _numbers(n * n), _numbers(n * n)
    a, b, c = (device.empty("fp16", n * n) for _ in range(3))
    a.write(left)
    b.write(right)
    m_block, n_block, k_block, warps, stages = _shape(arguments["arch"])
    grid = (n // m_block * (n // n_block),)
    sizes = {"BLOCK_M": m_block, "BLOCK_N": n_block, "BLOCK_K": k_block, "GROUP": 8}

    def launch() -> Any:
        return matmul[grid](a, b, c, n, n, n, num_warps=warps, num_stages=stages, **sizes)

    launch()
    _check_product(device, left, right, c)
    watch = Stopwatch(device)
    seconds = watch.kernel(launch)
    figures: dict[str, Any] = {
        "matmul_us": round(seconds * 1e6, 2),
        "tflops": round(2 * n**3 / seconds / 1e12, 1),
    }
    torch_seconds = _torch_product(watch, left, right)
    if torch_seconds:
        figures["torch_tflops"] = round(2 * n**3 / torch_seconds / 1e12, 1)
    return f"{figures['tflops']} TFLOP/s", figures


def _shape(arch: int) -> tuple[int, ...]:
    # consumer Blackwell (sm_120) has the shared memory of Ada
    known = 86 if arch >= 120 else arch
    return _SHAPES[max(least for least in _SHAPES if least <= known)]


def _numbers(count: int) -> array.array[int]:
    """Random fp16 of magnitude 0.5 to 1: zeros would cost less power and look faster."""
    bits = int.from_bytes(os.urandom(2 * count), "little")
    bits &= int.from_bytes(b"\xff\x83" * count, "little")
    bits |= int.from_bytes(b"\x00\x38" * count, "little")
    return array.array("H", bits.to_bytes(2 * count, "little"))


def _floats(bits: array.array[int]) -> tuple[float, ...]:
    """The numbers of fp16 given as bits."""
    return struct.unpack(f"<{len(bits)}e", bits.tobytes())


def _check_product(device: Device, left: array.array[int], right: array.array[int], c: Any) -> None:
    n = _SIZE
    for row, column in ((0, 0), (1, n - 1), (n // 2 + 3, 77), (n - 1, n - 1)):
        pairs = zip(_floats(left[row * n : row * n + n]), _floats(right[column::n]))
        want = sum(a * b for a, b in pairs)
        (got,) = _floats(c.read(row * n + column, 1))
        if device.computes and abs(got - want) > 0.01 + 0.002 * abs(want):
            raise AssertionError(f"element {row},{column} is {got}, must be {want}")


def _torch_product(
    watch: Stopwatch, left: array.array[int], right: array.array[int]
) -> float | None:
    torch = torch_with_cuda()
    if torch is None:
        return None
    a, b = (
        torch.frombuffer(each, dtype=torch.float16).reshape(_SIZE, _SIZE).cuda()
        for each in (left, right)
    )
    c = torch.empty_like(a)
    return watch.kernel(lambda: torch.matmul(a, b, out=c))

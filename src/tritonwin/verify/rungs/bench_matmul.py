"""Operations a second of a matrix product in fp16, by Triton and by torch."""

from __future__ import annotations

import array
import os
from typing import Any

from bench_kernels import code_id, matmul
from device import Device, torch_with_cuda
from stopwatch import Stopwatch

_SIZE = 4096
# block M, N, K, warps, stages: by the least compute capability; what shared memory holds
_BLOCKS = {
    100: (128, 256, 64, 8, 3),
    90: (128, 256, 64, 8, 3),
    86: (128, 128, 32, 8, 3),
    80: (128, 256, 32, 8, 4),
    0: (64, 128, 32, 4, 2),
}


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    device = Device()
    n = _SIZE
    left, right = _numbers(n * n), _numbers(n * n)
    a, b, c = (device.empty("fp16", n * n) for _ in range(3))
    a.write(left)
    b.write(right)
    m_block, n_block, k_block, warps, stages = _blocks(arguments["arch"])
    grid = (n // m_block * (n // n_block),)
    sizes = {"BLOCK_M": m_block, "BLOCK_N": n_block, "BLOCK_K": k_block, "GROUP": 8}

    def launch() -> Any:
        return matmul[grid](a, b, c, n, n, n, num_warps=warps, num_stages=stages, **sizes)

    kernel = launch()
    _check(device, left, right, c)
    watch = Stopwatch()
    seconds = watch.kernel(launch)
    figures: dict[str, Any] = {
        "matmul_us": round(seconds * 1e6, 2),
        "tflops": round(2 * n**3 / seconds / 1e12, 1),
        "code": code_id(kernel),
    }
    torch_seconds = _torch(watch, left, right)
    if torch_seconds:
        figures["torch_tflops"] = round(2 * n**3 / torch_seconds / 1e12, 1)
    return f"{figures['tflops']} TFLOP/s", figures


def _blocks(arch: int) -> tuple[int, ...]:
    # consumer Blackwell (sm_120) has the shared memory of Ada
    known = 86 if arch >= 120 else arch
    return _BLOCKS[max(least for least in _BLOCKS if least <= known)]


def _numbers(count: int) -> array.array[int]:
    """Random fp16 of magnitude 0.5 to 1: zeros would cost less power and look faster."""
    bits = int.from_bytes(os.urandom(2 * count), "little")
    bits &= int.from_bytes(b"\xff\x83" * count, "little")
    bits |= int.from_bytes(b"\x00\x38" * count, "little")
    return array.array("H", bits.to_bytes(2 * count, "little"))


def _value(bits: int) -> float:
    return (-1.0 if bits & 0x8000 else 1.0) * (0.5 + (bits & 0x3FF) / 2048)


def _half(bits: int) -> float:
    """Any finite fp16."""
    exponent, fraction = bits >> 10 & 31, bits & 0x3FF
    size = (1024 + fraction) * 2.0 ** (exponent - 25) if exponent else fraction * 2.0**-24
    return -size if bits & 0x8000 else size


def _check(device: Device, left: array.array[int], right: array.array[int], c: Any) -> None:
    n = _SIZE
    for row, column in ((0, 0), (1, n - 1), (n // 2 + 3, 77), (n - 1, n - 1)):
        pairs = zip(left[row * n : row * n + n], right[column::n])
        want = sum(_value(a) * _value(b) for a, b in pairs)
        got = _half(c.read(row * n + column, 1)[0])
        if device.computes and abs(got - want) > 0.01 + 0.002 * abs(want):
            raise AssertionError(f"element {row},{column} is {got}, must be {want}")


def _torch(watch: Stopwatch, left: array.array[int], right: array.array[int]) -> float | None:
    torch = torch_with_cuda()
    if torch is None:
        return None
    a, b = (
        torch.frombuffer(each, dtype=torch.float16).reshape(_SIZE, _SIZE).cuda()
        for each in (left, right)
    )
    c = torch.empty_like(a)
    return watch.kernel(lambda: torch.matmul(a, b, out=c))

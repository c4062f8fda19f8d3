"""Kernels that need no torch, a part each: what the GPU computed is compared number by number."""

from __future__ import annotations

import itertools
import math
import os
import re
import struct
import sys
from typing import Any, Callable

import triton
import triton.language as tl
from device import NOT_COMPUTED, check_sum, computes, first_device, load_driver, report, values
from probe_runner import NotApplicableError, output_of

try:
    from triton.language.extra import libdevice
except ImportError:  # Triton 3.0
    from triton.language.extra.cuda import libdevice

# -- vector-add

ADD_BLOCK = 1024


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def vector_add() -> tuple[str, dict[str, Any]]:
    return check_sum(
        first_device(),
        lambda x, y, out, n: add[(triton.cdiv(n, ADD_BLOCK),)](x, y, out, n, BLOCK=ADD_BLOCK),
    )


# -- dot: a product on tensor cores, of whole numbers that every format holds: it is exact

M, N, K = 64, 64, 128
# option dtype -> Triton's name of it in memory, of the result
MEMORY = {
    "fp16": ("fp16", "fp32"),
    "bf16": ("bf16", "fp32"),
    "fp32": ("fp32", "fp32"),
    "fp8e4nv": ("fp8e4nv", "fp32"),
    "fp8e5": ("fp8e5", "fp32"),
    "int8": ("i8", "i32"),
}

# the bits of 0 to 4 in formats that Python's arrays lack; the highest bit of all is the sign
BITS = {
    "fp16": (0, 0x3C00, 0x4000, 0x4200, 0x4400),
    "bf16": (0, 0x3F80, 0x4000, 0x4040, 0x4080),
    "fp8e4nv": (0, 0x38, 0x40, 0x44, 0x48),
    "fp8e5": (0, 0x3C, 0x40, 0x42, 0x44),
}


@triton.jit
def product(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * K + tl.arange(0, K)[None, :])
    y = tl.load(y_ptr + tl.arange(0, K)[:, None] * N + columns)
    tl.store(out_ptr + rows * N + columns, tl.dot(x, y))


def encoded(dtype: str, numbers: list[int]) -> list[float]:
    if dtype not in BITS:
        return [*numbers]
    sign = 0x80 if "fp8" in dtype else 0x8000
    return [BITS[dtype][abs(number)] | (sign if number < 0 else 0) for number in numbers]


def pattern(count: int, seed: int) -> list[int]:
    """Whole numbers from -4 to 4, without an order that an error could hide in."""
    state, numbers = seed, []
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        numbers.append((state >> 16) % 9 - 4)
    return numbers


def reference(x: list[int], y: list[int]) -> list[int]:
    columns = [y[n::N] for n in range(N)]
    rows = [x[m * K : (m + 1) * K] for m in range(M)]
    return [sum(a * b for a, b in zip(row, column)) for row in rows for column in columns]


def dot(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    dtype = arguments["dtype"]
    stored, result = MEMORY[dtype]
    device = first_device()
    one, two = pattern(M * K, 1), pattern(K * N, 2)
    x = device.upload_new(stored, encoded(dtype, one))
    y = device.upload_new(stored, encoded(dtype, two))
    out = device.upload_new(result, [-1] * (M * N))
    compiled = product[(1,)](x, y, out, M=M, N=N, K=K)
    wrong = sum(a != b for a, b in zip(out.read(), reference(one, two)))
    ptx = compiled.asm["ptx"]
    unit = next(
        (word for word in ("wgmma", "tcgen05", "mma.sync") if word in ptx), "no tensor cores"
    )
    detail, figures = report(device, f"{M} x {K} x {N}, all {M * N} exact, by {unit}", wrong)
    return detail, {**figures, "instruction": unit}


# -- atomics: many programs at once change the same numbers; none may be lost

RIVALS = 512
LANES = 128


@triton.jit
def count(sum_ptr, float_ptr, max_ptr, histogram_ptr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    tl.atomic_add(sum_ptr, 1)
    tl.atomic_add(float_ptr, 0.5)
    tl.atomic_max(max_ptr, program)
    tl.atomic_add(histogram_ptr + (lane + program) % 7, tl.full((BLOCK,), 1, tl.int32))


@triton.jit
def locked(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    # what the lock guards is read and written without an atomic operation
    tl.store(total_ptr, tl.load(total_ptr) + 3)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def atomics() -> tuple[str, dict[str, Any]]:
    device = first_device()
    total, largest = device.upload_new("i32", [0]), device.upload_new("i32", [-1])
    halves, bins = device.upload_new("fp32", [0.0]), device.upload_new("i32", [0] * 7)
    count[(RIVALS,)](total, halves, largest, bins, BLOCK=LANES)
    lock, guarded = device.upload_new("i32", [0]), device.upload_new("i32", [0])
    locked[(RIVALS,)](lock, guarded, num_warps=1)
    wanted_bins = [0] * 7
    for program in range(RIVALS):
        for lane in range(LANES):
            wanted_bins[(lane + program) % 7] += 1
    found = [total.read()[0], halves.read()[0], largest.read()[0], guarded.read()[0], *bins.read()]
    wanted = [RIVALS, RIVALS / 2, RIVALS - 1, 3 * RIVALS, *wanted_bins]
    wrong = sum(a != b for a, b in zip(found, wanted))
    return report(device, f"{RIVALS} programs: add, max, compare-and-swap, histogram", wrong)


# -- reductions: whole numbers are reduced and scanned across the threads of a program

ROWS, COLUMNS = 16, 256


@triton.jit
def reduce(x_ptr, sum_ptr, max_ptr, place_ptr, scan_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = rows[:, None] * COLUMNS + columns[None, :]
    x = tl.load(x_ptr + place)
    tl.store(sum_ptr + rows, tl.sum(x, axis=1))
    tl.store(max_ptr + columns, tl.max(x, axis=0))
    tl.store(place_ptr + rows, tl.argmax(x, axis=1))
    tl.store(scan_ptr + place, tl.cumsum(x, axis=1))


def reductions() -> tuple[str, dict[str, Any]]:
    device = first_device()
    # every row is a permutation: its maximum stands in one place only
    table = [[(31 * (c + 5 * r)) % 257 - 100 for c in range(COLUMNS)] for r in range(ROWS)]
    x = device.upload_new("i32", itertools.chain.from_iterable(table))
    sums, places = (device.upload_new("i32", [-1] * ROWS) for _ in range(2))
    largest = device.upload_new("i32", [-1] * COLUMNS)
    scans = device.upload_new("i32", [-1] * (ROWS * COLUMNS))
    reduce[(1,)](x, sums, largest, places, scans, ROWS=ROWS, COLUMNS=COLUMNS)
    found = [*sums.read(), *largest.read(), *places.read(), *scans.read()]
    wanted = [sum(row) for row in table]
    wanted += [max(column) for column in zip(*table)]
    wanted += [row.index(max(row)) for row in table]
    wanted += itertools.chain.from_iterable(itertools.accumulate(row) for row in table)
    wrong = sum(a != b for a, b in zip(found, wanted))
    return report(device, f"sum, max, argmax and cumsum of {ROWS} x {COLUMNS} exact", wrong)


# -- math: tl.math and libdevice against Python's own functions, in units in the last place of fp32

NUMBERS = 1024
# the order in which the kernel stores them; units in the last place that CUDA's documentation
# allows these functions, with the fast forms that Triton takes for exp, log, sin and cos
FUNCTIONS: tuple[tuple[str, Callable[[float], float], float], ...] = (
    ("exp", math.exp, 32),
    ("log", math.log, 32),
    ("sqrt", math.sqrt, 4),
    ("rsqrt", lambda x: 1 / math.sqrt(x), 4),
    ("sin", math.sin, 16),
    ("cos", math.cos, 16),
    ("erf", math.erf, 4),
    ("floor", math.floor, 0),
    ("tanh (libdevice)", math.tanh, 4),
    ("log1p (libdevice)", math.log1p, 4),
)


@triton.jit
def compute(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + 0 * BLOCK + offsets, tl.exp(x))
    tl.store(out_ptr + 1 * BLOCK + offsets, tl.log(x))
    tl.store(out_ptr + 2 * BLOCK + offsets, tl.sqrt(x))
    tl.store(out_ptr + 3 * BLOCK + offsets, tl.math.rsqrt(x))
    tl.store(out_ptr + 4 * BLOCK + offsets, tl.sin(x))
    tl.store(out_ptr + 5 * BLOCK + offsets, tl.cos(x))
    tl.store(out_ptr + 6 * BLOCK + offsets, tl.math.erf(x))
    tl.store(out_ptr + 7 * BLOCK + offsets, tl.math.floor(x))
    tl.store(out_ptr + 8 * BLOCK + offsets, libdevice.tanh(x))
    tl.store(out_ptr + 9 * BLOCK + offsets, libdevice.log1p(x))


def unit(x: float) -> float:
    """The distance between fp32 numbers at x, not less than that at 2**-10.

    Near a zero of log, sin or cos the absolute error counts.
    """
    exponent = math.frexp(x)[1] if x else -9
    return math.ldexp(1.0, max(exponent, -9) - 24)


def single(x: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", x))[0])


def math_functions() -> tuple[str, dict[str, Any]]:
    device = first_device()
    inputs = [single(0.01 + i * 0.003) for i in range(NUMBERS)]
    x = device.upload_new("fp32", inputs)
    out = device.upload_new("fp32", [-9.0] * (NUMBERS * len(FUNCTIONS)))
    compute[(1,)](x, out, BLOCK=NUMBERS)
    found = out.read()
    errors: dict[str, Any] = {}
    wrong = 0
    for n, (name, function, allowed) in enumerate(FUNCTIONS):
        wanted = [function(x) for x in inputs]
        row = found[n * NUMBERS : (n + 1) * NUMBERS]
        units = [abs(a - b) / unit(b) for a, b in zip(row, wanted)]
        errors[f"{name}, units in the last place"] = round(max(units), 2)
        wrong += sum(not u <= allowed for u in units)
    if device.computes and wrong:
        raise AssertionError(f"{wrong} results are off: {errors}")
    detail, figures = report(device, f"{len(FUNCTIONS)} functions of {NUMBERS} numbers", 0)
    return detail, {**figures, **(errors if device.computes else {})}


# -- device-print: in a process of its own, whose output is read: the driver writes it there

WORD = "tritonwin says"
SECONDS = 200
SPEAKERS = 3
# an embedded Python would not look beside a script
CHILD = "import sys; sys.path.insert(0, sys.argv[1]); import kernels; kernels.speak_once()"


@triton.jit
def speak(x_ptr):
    program = tl.program_id(0)
    tl.device_print("tritonwin says", tl.load(x_ptr + program))


def speak_once() -> None:
    device = first_device()
    numbers = device.upload_new("i32", [1000 + i for i in range(SPEAKERS)])
    speak[(SPEAKERS,)](numbers, num_warps=1)
    device.synchronize()


def heard(said: str) -> str:
    """The result for a console that shows `said`; AssertionError where a number is missing."""
    found = {int(number) for number in re.findall(rf"{WORD}\D*?(1\d\d\d)\b", said)}
    if found == {1000 + i for i in range(SPEAKERS)}:
        return f"{SPEAKERS} programs printed their numbers: {said.splitlines()[0].strip()!r}"
    raise AssertionError(f"{SPEAKERS} numbers should have been printed; this was: {said[:500]!r}")


def device_print() -> str:
    folder = os.path.dirname(os.path.abspath(__file__))
    said = output_of([sys.executable, "-B", "-c", CHILD, folder], SECONDS)
    return heard(said) if computes(load_driver()) else NOT_COMPUTED


# -- large: an array of more than 4 GB at both ends, with sizes that 32 bits cannot hold

LARGE = 2**32 + 4096  # bytes
SPARE = 2**30
ENDS = 1024


@triton.jit
def mark_ends(x_ptr, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(x_ptr + lane, tl.full((BLOCK,), 17, tl.int8), mask=lane < n)
    last = n - BLOCK + lane
    tl.store(x_ptr + last, tl.full((BLOCK,), 23, tl.int8), mask=last < n)


@triton.jit
def echo(out_ptr, n):
    tl.store(out_ptr, n * 3)


def large() -> tuple[str, dict[str, Any]]:
    device = first_device()
    small = device.upload_new("i64", [0])
    echo[(1,)](small, LARGE)
    wrong = int(small.read()[0] != 3 * LARGE)
    if not device.computes:
        return report(device, "", wrong)
    free = device.free_memory()
    if free < LARGE + SPARE:
        raise NotApplicableError(
            f"an array of more than 4 GB needs more GPU memory than is free: {free >> 20} MiB"
        )
    big = device.empty("i8", LARGE)
    zeros = values("i8", [0] * (2 * ENDS))
    big.write(zeros)
    big.write(zeros, LARGE - 2 * ENDS)
    mark_ends[(1,)](big, LARGE, BLOCK=ENDS)
    head, tail = big.read(0, 2 * ENDS), big.read(LARGE - 2 * ENDS, 2 * ENDS)
    wrong += sum(v != 17 for v in head[:ENDS]) + sum(v != 0 for v in head[ENDS:])
    wrong += sum(v != 0 for v in tail[:ENDS]) + sum(v != 23 for v in tail[ENDS:])
    return report(device, f"both ends of {LARGE} bytes, and a 64-bit argument", wrong)

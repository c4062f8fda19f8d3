"""Reduce and scan whole numbers across the threads of a program."""

from __future__ import annotations

import itertools
from typing import Any

import triton
import triton.language as tl
from device import first_device, report

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


def prove() -> tuple[str, dict[str, Any]]:
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

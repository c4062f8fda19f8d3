"""The portable Triton kernels: any GPU that Triton knows, and its interpreter.

Pointers may be tensors or raw addresses: nothing here needs torch. `x` is uint8, row b at
x + b*stride_x, of `length` bytes, of which the first `skip` are history; output row m = b*R + r is
at r + skip of its row, and its newest byte `shift` bytes after that. u = 2x - 255 is exact in fp16
and bf16, so the only rounding is in the taps; they come as fp16 limbs (tensor cores) or fp32
(none), oldest lag first, times 2^scale, by which the bytes are divided. S: `records.Dense`.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def frame_of(x, row, newest, end, w0, S: tl.constexpr):
    """(2x - 255) / 2^scale as (rows, bk), taps w0.. of S.rows, oldest first; 0 outside the row.
    Taps of bytes before the window are 0."""
    lag = S.rows - 1 - w0 - tl.arange(0, S.bk)
    at = newest[:, None] - lag[None, :]
    here = (at >= 0) & (at < end[:, None])
    byte = tl.load(x + row[:, None] + at, mask=here, other=0)
    u = byte.to(tl.float32) * (2.0 ** (1 - S.scale)) - 255.0 * 2.0**-S.scale
    return tl.where(here, u, 0.0)


@triton.jit
def rows_of(pid, lengths, M, R, length, stride_x, skip, S: tl.constexpr):
    """For a tile of output rows: number, start of the row of bytes, newest byte, end of the row
    (0 where the position itself is past the end, so that its frame and output are 0)."""
    m = pid * S.bm + tl.arange(0, S.bm)
    b = m // R
    at = (m - b * R) + skip
    end = m * 0 + length
    if S.lengths:
        end = tl.minimum(end, tl.load(lengths + b, mask=m < M, other=0))
        end = tl.where(at < end, end, 0)
    return m, b.to(tl.int64) * stride_x, at + S.shift, tl.where(m < M, end, 0)


@triton.jit
def select_parts(re, im, PARTS: tl.constexpr):
    power = re * re + im * im
    if PARTS == "power":
        return power
    size = tl.sqrt(power)
    if PARTS == "logmag":
        size = tl.log(size + 1e-3)
    return size


@triton.jit
def add_product(taps, frame, w, k, re, im, S: tl.constexpr):
    """re, im += frame @ the limbs of taps (limbs, rows, 2 bins) at lags w and bins k."""
    LIMBS: tl.constexpr = S.limbs
    at = taps + w * (2 * S.bins) + k
    frame = frame.to(taps.dtype.element_ty)
    for limb in tl.static_range(LIMBS if LIMBS > 0 else 1):
        first = at + limb * S.rows * 2 * S.bins
        re = tl.dot(frame, tl.load(first), re, input_precision="ieee")
        im = tl.dot(frame, tl.load(first + S.bins), im, input_precision="ieee")
    return re, im


@triton.jit
def whole_frame(x, row, newest, end, S: tl.constexpr):
    """The frame that serves every bin where one step takes all taps; else nothing of use."""
    if S.rows == S.bk:
        frame = frame_of(x, row, newest, end, 0, S)
        if S.limbs > 0:
            frame = frame.to(tl.float16)
    else:
        frame = newest
    return frame


@triton.jit
def features(x, taps, frame, row, newest, end, k, S: tl.constexpr):
    """re and im of bins k, or the part of them that is asked for, twice."""
    PARTS: tl.constexpr = S.parts
    ROWS: tl.constexpr = S.bm
    BINS: tl.constexpr = S.be
    re = tl.zeros((ROWS, BINS), tl.float32)
    im = tl.zeros((ROWS, BINS), tl.float32)
    w = tl.arange(0, S.bk)[:, None]
    if S.rows == S.bk:
        re, im = add_product(taps, frame, w, k[None, :], re, im, S)
    else:
        for w0 in range(0, S.rows, S.bk):
            part = frame_of(x, row, newest, end, w0, S)
            re, im = add_product(taps, part, w0 + w, k[None, :], re, im, S)
    if PARTS == "reim":
        return re * S.factor, im * S.factor
    value = select_parts(re, im, PARTS)
    if S.lengths and PARTS == "logmag":
        value = tl.where((end > 0)[:, None], value, 0.0)
    return value, value


@triton.jit
def encode(x, taps, out, lengths, M, R, length, stride_x, skip, S: tl.constexpr):
    """The dot form. Grid (row tiles, shares of the bins); out (M, features)."""
    STAGES: tl.constexpr = S.stages
    m, row, newest, end = rows_of(tl.program_id(0), lengths, M, R, length, stride_x, skip, S)
    to = out + m.to(tl.int64)[:, None] * S.features
    frame = whole_frame(x, row, newest, end, S)
    share = tl.cdiv(tl.cdiv(S.K, S.be), tl.num_programs(1)) * S.be
    start = tl.program_id(1) * share
    for e in tl.range(start, tl.minimum(start + share, S.K), S.be, num_stages=STAGES):
        k = e + tl.arange(0, S.be)
        value, im = features(x, taps, frame, row, newest, end, k, S)
        mask = None if S.even and S.even_rows else (m < M)[:, None] & (k < S.K)[None, :]
        tl.store(to + k[None, :], value.to(out.dtype.element_ty), mask=mask)
        if S.parts == "reim":
            tl.store(to + (S.K + k)[None, :], im.to(out.dtype.element_ty), mask=mask)


@triton.jit
def project(x, taps, weight, bias, table, out, lengths, M, R, length, stride_x, skip,
            S: tl.constexpr):  # fmt: skip
    """features @ weight^T + bias, features never written. Grid (row tiles, tiles of width).

    table (256, width) has a row for each byte: that of the position's own is added, or, gated,
    multiplied by the sigmoid of the rest.
    """
    STAGES: tl.constexpr = S.stages
    ROWS: tl.constexpr = S.bm
    COLUMNS: tl.constexpr = S.bd
    D: tl.constexpr = S.width
    m, row, newest, end = rows_of(tl.program_id(0), lengths, M, R, length, stride_x, skip, S)
    d = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    frame = whole_frame(x, row, newest, end, S)
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    for e in tl.range(0, S.K, S.be, num_stages=STAGES):
        k = e + tl.arange(0, S.be)
        value, _ = features(x, taps, frame, row, newest, end, k, S)
        matrix = tl.load(
            weight + d[None, :].to(tl.int64) * S.K + k[:, None],
            mask=(d < D)[None, :] & (k < S.K)[:, None],
            other=0,
        )
        acc = tl.dot(value.to(weight.dtype.element_ty), matrix, acc, input_precision="ieee")
    mask = (m < M)[:, None] & (d < D)[None, :]
    if S.bias:
        acc += tl.load(bias + d, mask=d < D, other=0).to(tl.float32)[None, :]
    if S.table:
        byte = tl.load(x + row + newest - S.shift, mask=m < M, other=0).to(tl.int32)
        rows = tl.load(table + byte[:, None] * D + d[None, :], mask=mask, other=0).to(tl.float32)
        acc = rows * tl.sigmoid(acc) if S.gated else rows + acc
    tl.store(
        out + m.to(tl.int64)[:, None] * D + d[None, :], acc.to(out.dtype.element_ty), mask=mask
    )


@triton.jit
def pack(taps, packed, K, scale, total, W: tl.constexpr, WP: tl.constexpr, WIDTH: tl.constexpr,
         PAIRS: tl.constexpr, LIMBS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """`pack.arrange` on the device: fp32 taps (W, 2K) -> (chunks, LIMBS, WP, 2 WIDTH)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = i % WIDTH
    half = i // WIDTH % 2  # re or im
    row = i // (2 * WIDTH) % WP
    chunk = i // (2 * WIDTH * WP)
    place = column % (8 * PAIRS)
    k = chunk * WIDTH + column - place
    k += place % 8 // 2 * (2 * PAIRS) + place // 8 * 2 + place % 2
    lag = WP - 1 - row
    here = (i < total) & (lag < W) & (k < K)
    value = tl.load(taps + lag * (2 * K) + half * K + k, mask=here, other=0) * scale
    if LIMBS == 0:
        tl.store(packed + i, value, mask=i < total)
    for limb in tl.static_range(LIMBS):
        part = value.to(tl.float16)
        at = (chunk * LIMBS + limb) * (2 * WIDTH * WP) + i % (2 * WIDTH * WP)
        tl.store(packed + at, part, mask=i < total)
        value -= part.to(tl.float32)

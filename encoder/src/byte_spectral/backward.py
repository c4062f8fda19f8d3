"""Gradients in Triton alone: of taps, by the same Toeplitz product, turned; of a table of bytes."""

from __future__ import annotations

import triton
import triton.language as tl

from byte_spectral.kernels import dot_tiles, frame_of, rows_of, tap_tiles


@triton.jit
def _before_select(re, im, g, PARTS: tl.constexpr):
    """The upstream of re and im from that of the selected part."""
    if PARTS == "power":
        g *= 2.0
    else:
        power = re * re + im * im
        turn = tl.where(power > 0.0, tl.rsqrt(tl.where(power > 0.0, power, 1.0)), 0.0)
        if PARTS == "logmag":
            g /= power * turn + 1e-3
        g *= turn  # at X = 0 |X| has gradient 0
    return g * re, g * im


@triton.jit
def _add_product(g, frame, total):
    """total += g @ frame; g as two bf16 limbs: the first is cut, not rounded, which is cheaper."""
    high = (g.to(tl.uint32, bitcast=True) & 0xFFFF0000).to(tl.float32, bitcast=True)
    total = tl.dot(high.to(tl.bfloat16), frame, total)
    return tl.dot((g - high).to(tl.bfloat16), frame, total)


@triton.jit
def gradient(x, taps, upstream, partial, lengths, M, R, length, stride_x, skip, S: tl.constexpr):
    """Gradient of the taps. Grid (splits, tiles of bins, rows/bk); partial (splits, 2, rows, bins).

    Split i takes the row tiles i, i+splits, .. in order, and `total` adds the splits in order, so
    that the result is the same every time. Re and Im are computed again rather than read, unless
    parts is "reim"; that needs all taps at once (rows == bk), which stay on chip. Bins are the rows
    of both products, as in flash attention: what becomes of the first is the left operand of the
    second where it stands. It goes to the tensor cores as two bf16 limbs; u is exact in bf16.
    """
    PARTS: tl.constexpr = S.parts
    STAGES: tl.constexpr = S.stages
    ROWS: tl.constexpr = S.bm
    TAPS: tl.constexpr = S.bk
    BINS: tl.constexpr = S.be
    k = tl.program_id(1) * BINS + tl.arange(0, BINS)
    w0 = tl.program_id(2) * TAPS
    d_re = tl.zeros((BINS, TAPS), tl.float32)
    d_im = tl.zeros((BINS, TAPS), tl.float32)
    if PARTS != "reim":
        tiles = tap_tiles(taps, tl.arange(0, TAPS)[None, :], k[:, None], S)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, S.bm), S.splits, num_stages=STAGES):
        m, row, newest, end = rows_of(tile, lengths, M, R, length, stride_x, skip, S)
        frame = frame_of(x, row, newest, end, w0, S)
        mask = (k < S.K)[:, None] & (m < M)[None, :]
        at = upstream + m.to(tl.int64)[None, :] * S.features + k[:, None]
        d = tl.load(at, mask=mask, other=0).to(tl.float32)
        if PARTS == "reim":
            e = tl.load(at + S.K, mask=mask, other=0).to(tl.float32)
        else:
            zero = tl.zeros((BINS, ROWS), tl.float32)
            re, im = dot_tiles(tl.trans(frame), tiles, zero, zero, S, True)
            d, e = _before_select(re, im, d, PARTS)
        if S.limbs > 0:
            frame = frame.to(tl.bfloat16)
            d_re = _add_product(d, frame, d_re)
            d_im = _add_product(e, frame, d_im)
        else:
            d_re = tl.dot(d, frame, d_re, input_precision="ieee")
            d_im = tl.dot(e, frame, d_im, input_precision="ieee")
    to = partial + tl.program_id(0).to(tl.int64) * (2 * S.rows * S.bins)
    to += (w0 + tl.arange(0, TAPS))[None, :] * S.bins + k[:, None]
    tl.store(to, d_re)
    tl.store(to + S.rows * S.bins, d_im)


@triton.jit
def total(partial, found, K, scale, SPLITS: tl.constexpr, W: tl.constexpr, WP: tl.constexpr,
          KP: tl.constexpr, BLOCK: tl.constexpr, AT_ONCE: tl.constexpr):  # fmt: skip
    """The splits' sum, always in the same order, times scale, as (W, 2K): newest byte first.

    Grid (2 KP WP / BLOCK): numbers are read as they lie, by wide loads that are all under way.
    """
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    split = tl.arange(0, AT_ONCE)
    value = tl.zeros((AT_ONCE, BLOCK), tl.float32)
    for first in tl.static_range(0, SPLITS, AT_ONCE):
        where = (first + split).to(tl.int64)[:, None] * (2 * KP * WP) + at[None, :]
        if first + AT_ONCE <= SPLITS:
            value += tl.load(partial + where)
        else:
            value += tl.load(partial + where, mask=(first + split < SPLITS)[:, None], other=0)
    k = at % KP
    lag = WP - 1 - at // KP % WP
    half = at // (KP * WP)  # re or im
    to = found + lag * (2 * K) + half * K + k
    tl.store(to, tl.sum(value, axis=0) * scale, mask=(lag < W) & (k < K))


@triton.jit
def _bytes_of(x, tile, M, T, stride_x, ROWS: tl.constexpr):
    m = tile * ROWS + tl.arange(0, ROWS)
    b = m // T
    at = x + b.to(tl.int64) * stride_x + (m - b * T)
    return tl.load(at, mask=m < M, other=0).to(tl.int32)


@triton.jit
def by_byte(x, upstream, partial, M, T, stride_x, D: tl.constexpr, ROWS: tl.constexpr,
            COLUMNS: tl.constexpr, HALF: tl.constexpr):  # fmt: skip
    """Sums of the upstream's rows (M, D) over the positions of each byte: partial (splits, 256, D).

    Grid (splits, tiles of columns). A product with a matrix of zeros and ones that is made in
    registers: nothing is sorted, and the order of the additions is always the same.
    """
    d = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    value = tl.arange(0, 256)
    total = tl.zeros((256, COLUMNS), tl.float32)
    step = tl.num_programs(0)
    byte = _bytes_of(x, tl.program_id(0), M, T, stride_x, ROWS)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, ROWS), step, num_stages=3):
        m = tile * ROWS + tl.arange(0, ROWS)
        here = (m < M)[:, None] & (d < D)[None, :]
        rows = tl.load(upstream + m.to(tl.int64)[:, None] * D + d[None, :], mask=here, other=0)
        following = _bytes_of(x, tile + step, M, T, stride_x, ROWS)
        chosen = tl.where(value[:, None] == byte[None, :], 1.0, 0.0)
        if HALF:
            total = tl.dot(chosen.to(rows.dtype), rows, total)
        else:
            total = tl.dot(chosen, rows.to(tl.float32), total, input_precision="ieee")
        byte = following
    to = partial + tl.program_id(0).to(tl.int64) * (256 * D) + value[:, None] * D + d[None, :]
    tl.store(to, total, mask=(d < D)[None, :])

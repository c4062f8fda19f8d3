"""The gradient of the taps, in Triton alone: the same Toeplitz product, turned."""

from __future__ import annotations

import triton
import triton.language as tl

from byte_spectral.kernels import dot_tiles, rows_of, tap_tiles


@triton.jit
def _tile(x, upstream, lengths, tile, M, R, length, stride_x, offset, lead, k, w0, K, E,
          W: tl.constexpr, WP: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr,
          HAS_LENGTHS: tl.constexpr, BM: tl.constexpr):  # fmt: skip
    """All that an iteration reads: bytes, which of them are in the row, and the upstream."""
    m, row, newest, end = rows_of(tile, lengths, M, R, length, stride_x, offset, lead, BM,
                                  HAS_LENGTHS)  # fmt: skip
    lag = WP - 1 - w0 - tl.arange(0, BK)
    at = newest[:, None] - lag[None, :]
    here = (at >= 0) & (at < end[:, None]) & (lag < W)[None, :]
    byte = tl.load(x + row[:, None] + at, mask=here, other=0)
    mask = (k < K)[None, :] & (m < M)[:, None]
    to = upstream + m.to(tl.int64)[:, None] * E + k[None, :]
    g_re = tl.load(to, mask=mask, other=0)
    g_im = tl.load(to + K, mask=mask, other=0) if PARTS == "reim" else g_re
    return byte, here, g_re, g_im


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
def _add_product(turned, g, total):
    """total += turned @ g; g as two bf16 limbs: the first is cut, not rounded, which is cheaper."""
    high = (g.to(tl.uint32, bitcast=True) & 0xFFFF0000).to(tl.float32, bitcast=True)
    total = tl.dot(turned, high.to(tl.bfloat16), total)
    return tl.dot(turned, (g - high).to(tl.bfloat16), total)


@triton.jit
def gradient(x, taps, upstream, partial, lengths, M, R, length, stride_x, offset, lead, K, E,
             W: tl.constexpr, WP: tl.constexpr, KP: tl.constexpr, SHIFT: tl.constexpr,
             LIMBS: tl.constexpr, PARTS: tl.constexpr, HAS_LENGTHS: tl.constexpr,
             BM: tl.constexpr, BE: tl.constexpr, BK: tl.constexpr,
             SPLITS: tl.constexpr, TENSOR: tl.constexpr, STAGES: tl.constexpr):  # fmt: skip
    """Gradient of the taps. Grid (SPLITS, tiles of bins, WP/BK); partial (SPLITS, 2, WP, KP) fp32.

    Split i takes the row tiles i, i+SPLITS, .. in order, and `total` adds the splits in order, so
    that the result is the same every time. Re and Im are computed anew rather than read, unless
    PARTS is "reim"; that needs all taps at once (WP == BK), which stay on chip. The upstream
    gradient goes to the tensor cores as two bf16 limbs; u is exact in bf16.
    """
    k = tl.program_id(1) * BE + tl.arange(0, BE)
    w0 = tl.program_id(2) * BK
    d_re = tl.zeros((BK, BE), tl.float32)
    d_im = tl.zeros((BK, BE), tl.float32)
    if PARTS != "reim":
        tiles = tap_tiles(taps, k, WP, KP, LIMBS)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM), SPLITS, num_stages=STAGES):
        byte, here, g_re, g_im = _tile(x, upstream, lengths, tile, M, R, length, stride_x, offset,
                                       lead, k, w0, K, E, W, WP, BK, PARTS, HAS_LENGTHS,
                                       BM)  # fmt: skip
        u = byte.to(tl.float32) * (2.0 ** (1 - SHIFT)) - 255.0 * 2.0**-SHIFT
        frame = tl.where(here, u, 0.0)
        d = g_re.to(tl.float32)
        e = g_im.to(tl.float32)
        if PARTS != "reim":
            re, im = dot_tiles(frame, tiles, LIMBS)
            d, e = _before_select(re, im, d, PARTS)
        if TENSOR:
            turned = tl.trans(frame.to(tl.bfloat16))
            d_re = _add_product(turned, d, d_re)
            d_im = _add_product(turned, e, d_im)
        else:
            turned = tl.trans(frame)
            d_re = tl.dot(turned, d, d_re, input_precision="ieee")
            d_im = tl.dot(turned, e, d_im, input_precision="ieee")
    to = partial + tl.program_id(0).to(tl.int64) * (2 * WP * KP)
    to += (w0 + tl.arange(0, BK))[:, None] * KP + k[None, :]
    tl.store(to, d_re)
    tl.store(to + WP * KP, d_im)


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

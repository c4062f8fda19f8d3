"""The gradient of the taps, in Triton alone: the same Toeplitz product, turned."""

from __future__ import annotations

import triton
import triton.language as tl

from tritonwin.spectral.kernels import dot_taps, frame_of, rows_of


@triton.jit
def gradient(x, taps, upstream, partial, lengths, M, R, length, stride_x, offset, lead, K, E,
             W: tl.constexpr, WP: tl.constexpr, KP: tl.constexpr, SHIFT: tl.constexpr,
             LIMBS: tl.constexpr, PARTS: tl.constexpr, HAS_LENGTHS: tl.constexpr,
             BM: tl.constexpr, BE: tl.constexpr, BK: tl.constexpr,
             SPLITS: tl.constexpr, TENSOR: tl.constexpr, STAGES: tl.constexpr):  # fmt: skip
    """Gradient of the taps. Grid (SPLITS, tiles of bins, WP/BK); partial (SPLITS, 2, WP, KP) fp32.

    Split i takes the row tiles i, i+SPLITS, .. in order, and `total` adds the splits in order, so
    that the result is the same every time. Re and Im are computed anew rather than read, unless
    PARTS is "reim"; that needs all taps at once (WP == BK). The upstream gradient goes to the
    tensor cores as two bf16 limbs; u is exact in bf16.
    """
    k = tl.program_id(1) * BE + tl.arange(0, BE)
    w0 = tl.program_id(2) * BK
    d_re = tl.zeros((BK, BE), tl.float32)
    d_im = tl.zeros((BK, BE), tl.float32)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM), SPLITS, num_stages=STAGES):
        m, row, newest, end = rows_of(tile, lengths, M, R, length, stride_x, offset, lead,
                                      BM, HAS_LENGTHS)  # fmt: skip
        mask = (k < K)[None, :] & (m < M)[:, None]
        frame = frame_of(x, row, newest, end, w0, W, BK, SHIFT, WP)
        at = upstream + m.to(tl.int64)[:, None] * E + k[None, :]
        g_re = tl.load(at, mask=mask, other=0).to(tl.float32)
        if PARTS == "reim":
            g_im = tl.load(at + K, mask=mask, other=0).to(tl.float32)
        else:
            re = tl.zeros((BM, BE), tl.float32)
            im = tl.zeros((BM, BE), tl.float32)
            re, im = dot_taps(frame, taps, k, 0, WP, KP, BK, LIMBS, re, im)
            if PARTS == "power":
                g_re *= 2.0
            else:
                power = re * re + im * im
                size = tl.sqrt(power)
                if PARTS == "logmag":
                    g_re /= size + 1e-3
                g_re /= tl.where(
                    size > 0.0, size, 1.0
                )  # at X = 0, where |X| has gradient 0, re is 0
            g_im = g_re * im
            g_re = g_re * re
        if TENSOR:
            turned = tl.trans(frame.to(tl.bfloat16))
            high = g_re.to(tl.bfloat16)
            d_re = tl.dot(turned, high, d_re)
            d_re = tl.dot(turned, (g_re - high.to(tl.float32)).to(tl.bfloat16), d_re)
            high = g_im.to(tl.bfloat16)
            d_im = tl.dot(turned, high, d_im)
            d_im = tl.dot(turned, (g_im - high.to(tl.float32)).to(tl.bfloat16), d_im)
        else:
            turned = tl.trans(frame)
            d_re = tl.dot(turned, g_re, d_re, input_precision="ieee")
            d_im = tl.dot(turned, g_im, d_im, input_precision="ieee")
    to = partial + tl.program_id(0).to(tl.int64) * (2 * WP * KP)
    to += (w0 + tl.arange(0, BK))[:, None] * KP + k[None, :]
    tl.store(to, d_re)
    tl.store(to + WP * KP, d_im)


@triton.jit
def total(partial, found, K, scale, SPLITS: tl.constexpr, W: tl.constexpr, WP: tl.constexpr,
          KP: tl.constexpr, BLOCK: tl.constexpr, AT_ONCE: tl.constexpr):  # fmt: skip
    """The splits' sum, times scale, as (W, 2K): newest byte first."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lag = i // (2 * K)
    column = i % (2 * K)
    here = lag < W
    at = (column // K * WP + WP - 1 - lag) * KP + column % K
    split = tl.arange(0, AT_ONCE)
    value = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, SPLITS, AT_ONCE):
        some = (first + split < SPLITS)[:, None] & here[None, :]
        where = (first + split)[:, None] * (2 * WP * KP) + at[None, :]
        value += tl.sum(tl.load(partial + where, mask=some, other=0), axis=0)
    tl.store(found + i, value * scale, mask=here)

"""The portable Triton kernels: any GPU that Triton knows, and its interpreter.

Pointers may be tensors or raw addresses: nothing here needs torch. `x` is uint8, row b at
x + b*stride_x, of `length` bytes; output row m = b*R + r has its newest byte at r + offset of its
row, which is `lead` bytes after the row's own. u = 2x - 255 is exact in fp16
and bf16, so the only rounding is in the taps; they come as fp16 limbs (tensor cores) or fp32
(none), oldest lag first, times 2^SHIFT, by which the bytes are divided.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def frame_of(x, row, newest, end, w0, W: tl.constexpr, BK: tl.constexpr, SHIFT: tl.constexpr,
             WP: tl.constexpr):  # fmt: skip
    """(2x - 255) / 2^SHIFT as (rows, BK), taps w0.. of WP, oldest first; 0 outside the row."""
    lag = WP - 1 - w0 - tl.arange(0, BK)
    at = newest[:, None] - lag[None, :]
    here = (at >= 0) & (at < end[:, None]) & (lag < W)[None, :]
    byte = tl.load(x + row[:, None] + at, mask=here, other=0)
    u = byte.to(tl.float32) * (2.0 ** (1 - SHIFT)) - 255.0 * 2.0**-SHIFT
    return tl.where(here, u, 0.0)


@triton.jit
def rows_of(pid, lengths, M, R, length, stride_x, offset, lead, BM: tl.constexpr,
            HAS_LENGTHS: tl.constexpr):  # fmt: skip
    """For a tile of output rows: number, start of the row of bytes, newest byte, end of the row
    (0 where the position itself is past the end, so that its frame and output are 0)."""
    m = pid * BM + tl.arange(0, BM)
    b = m // R
    newest = (m - b * R) + offset
    end = m * 0 + length
    if HAS_LENGTHS:
        end = tl.minimum(end, tl.load(lengths + b, mask=m < M, other=0))
        end = tl.where(newest - lead < end, end, 0)
    return m, b.to(tl.int64) * stride_x, newest, tl.where(m < M, end, 0)


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
def dot_taps(frame, taps, k, w0, WP: tl.constexpr, KP: tl.constexpr, BK: tl.constexpr,
             LIMBS: tl.constexpr, re, im):  # fmt: skip
    """re, im += frame @ taps[w0:w0+BK, bins k]; taps (LIMBS, WP, 2 KP), or fp32 if LIMBS is 0."""
    at = taps + (w0 + tl.arange(0, BK))[:, None] * (2 * KP) + k[None, :]
    if LIMBS == 0:
        re = tl.dot(frame, tl.load(at), re, input_precision="ieee")
        im = tl.dot(frame, tl.load(at + KP), im, input_precision="ieee")
    else:
        half = frame.to(tl.float16)
        for limb in tl.static_range(LIMBS):
            re = tl.dot(half, tl.load(at + limb * WP * 2 * KP), re)
            im = tl.dot(half, tl.load(at + limb * WP * 2 * KP + KP), im)
    return re, im


@triton.jit
def tap_tiles(taps, k, WP: tl.constexpr, KP: tl.constexpr, LIMBS: tl.constexpr):
    """(re, im) of each limb, (WP, BE), to be multiplied more than once; see `dot_taps`."""
    at = taps + tl.arange(0, WP)[:, None] * (2 * KP) + k[None, :]
    found = ()
    for limb in tl.static_range(LIMBS if LIMBS > 0 else 1):
        found += (tl.load(at + limb * WP * 2 * KP), tl.load(at + limb * WP * 2 * KP + KP))
    return found


@triton.jit
def dot_tiles(frame, tiles, LIMBS: tl.constexpr):
    """frame @ the taps of `tap_tiles`: re, im."""
    re = tl.zeros((frame.shape[0], tiles[0].shape[1]), tl.float32)
    im = tl.zeros((frame.shape[0], tiles[0].shape[1]), tl.float32)
    if LIMBS == 0:
        re = tl.dot(frame, tiles[0], re, input_precision="ieee")
        im = tl.dot(frame, tiles[1], im, input_precision="ieee")
    else:
        half = frame.to(tl.float16)
        for limb in tl.static_range(LIMBS):
            re = tl.dot(half, tiles[2 * limb], re)
            im = tl.dot(half, tiles[2 * limb + 1], im)
    return re, im


@triton.jit
def whole_frame(x, row, newest, end, W: tl.constexpr, WP: tl.constexpr, SHIFT: tl.constexpr,
                LIMBS: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """The frame that serves every bin where one step takes all taps; else nothing of use."""
    if WP == BK:
        frame = frame_of(x, row, newest, end, 0, W, BK, SHIFT, WP)
        if LIMBS != 0:
            frame = frame.to(tl.float16)
    else:
        frame = row
    return frame


@triton.jit
def spectrum(x, taps, frame, row, newest, end, k, W: tl.constexpr, WP: tl.constexpr,
             KP: tl.constexpr, SHIFT: tl.constexpr, LIMBS: tl.constexpr, BM: tl.constexpr,
             BE: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """re and im (BM, BE) of the bins k; `frame` is that of `whole_frame`."""
    re = tl.zeros((BM, BE), tl.float32)
    im = tl.zeros((BM, BE), tl.float32)
    if WP == BK:
        re, im = dot_taps(frame, taps, k, 0, WP, KP, BK, LIMBS, re, im)
    else:
        for w0 in range(0, WP, BK):
            part = frame_of(x, row, newest, end, w0, W, BK, SHIFT, WP)
            re, im = dot_taps(part, taps, k, w0, WP, KP, BK, LIMBS, re, im)
    return re, im


@triton.jit
def encode(x, taps, out, lengths, M, R, length, stride_x, offset, lead, K, E, scale,
           W: tl.constexpr, WP: tl.constexpr, KP: tl.constexpr, SHIFT: tl.constexpr,
           LIMBS: tl.constexpr, PARTS: tl.constexpr, HAS_LENGTHS: tl.constexpr,
           EVEN: tl.constexpr, BM: tl.constexpr, BE: tl.constexpr, BK: tl.constexpr,
           STAGES: tl.constexpr):  # fmt: skip
    """The dot form. Grid (row tiles, shares of the bins); out (M, E)."""
    m, row, newest, end = rows_of(tl.program_id(0), lengths, M, R, length, stride_x, offset,
                                  lead, BM, HAS_LENGTHS)  # fmt: skip
    to = out + m.to(tl.int64)[:, None] * E
    frame = whole_frame(x, row, newest, end, W, WP, SHIFT, LIMBS, BK)
    share = tl.cdiv(tl.cdiv(K, BE), tl.num_programs(1)) * BE
    start = tl.program_id(1) * share
    for e in tl.range(start, tl.minimum(start + share, K), BE, num_stages=STAGES):
        k = e + tl.arange(0, BE)
        re, im = spectrum(x, taps, frame, row, newest, end, k, W, WP, KP, SHIFT, LIMBS, BM, BE, BK)
        mask = None if EVEN else (m < M)[:, None] & (k < K)[None, :]
        if PARTS == "reim":
            tl.store(to + k[None, :], (re * scale).to(out.dtype.element_ty), mask=mask)
            tl.store(to + (K + k)[None, :], (im * scale).to(out.dtype.element_ty), mask=mask)
        else:
            value = select_parts(re, im, PARTS)
            if HAS_LENGTHS and PARTS == "logmag":
                value = tl.where((end > 0)[:, None], value, 0.0)
            tl.store(to + k[None, :], value.to(out.dtype.element_ty), mask=mask)


@triton.jit
def project(x, taps, weight, bias, out, lengths, M, R, length, stride_x, offset, lead, K, D,
            stride_w, W: tl.constexpr, WP: tl.constexpr, KP: tl.constexpr, SHIFT: tl.constexpr,
            LIMBS: tl.constexpr, PARTS: tl.constexpr, HAS_LENGTHS: tl.constexpr,
            HAS_BIAS: tl.constexpr, BM: tl.constexpr, BE: tl.constexpr, BK: tl.constexpr,
            BD: tl.constexpr, STAGES: tl.constexpr):  # fmt: skip
    """features @ weight^T + bias, features never written. Grid (row tiles, tiles of D)."""
    m, row, newest, end = rows_of(tl.program_id(0), lengths, M, R, length, stride_x, offset,
                                  lead, BM, HAS_LENGTHS)  # fmt: skip
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    frame = whole_frame(x, row, newest, end, W, WP, SHIFT, LIMBS, BK)
    acc = tl.zeros((BM, BD), tl.float32)
    for e in tl.range(0, K, BE, num_stages=STAGES):
        k = e + tl.arange(0, BE)
        re, im = spectrum(x, taps, frame, row, newest, end, k, W, WP, KP, SHIFT, LIMBS, BM, BE, BK)
        value = select_parts(re, im, PARTS)
        if HAS_LENGTHS and PARTS == "logmag":
            value = tl.where((end > 0)[:, None], value, 0.0)
        matrix = tl.load(
            weight + d[None, :].to(tl.int64) * stride_w + k[:, None],
            mask=(d < D)[None, :] & (k < K)[:, None],
            other=0,
        )
        acc = tl.dot(value.to(weight.dtype.element_ty), matrix, acc, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(bias + d, mask=d < D, other=0).to(tl.float32)[None, :]
    mask = (m < M)[:, None] & (d < D)[None, :]
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

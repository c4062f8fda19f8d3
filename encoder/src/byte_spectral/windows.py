"""The sums over whole windows that the sliding form starts from; see `sliding`.

The kernel waits for memory more than it computes, so it reads all it can before it uses any.
"""

from __future__ import annotations

import triton
import triton.language as tl

from byte_spectral.kernels import dot_tiles, tap_tiles


@triton.jit
def _turns(turns, at, k, K, GROUPS: tl.constexpr, GROUP, good):
    """cos, sin of v STEPS at, v the frequency of the group; `at` one number a row."""
    where = turns + ((at * GROUPS + GROUP) * 2)[:, None] * K + k[None, :]
    return tl.load(where, mask=good, other=0), tl.load(where + K, mask=good, other=0)


@triton.jit
def _turned(re, im, cos, sin):
    return re * cos - im * sin, re * sin + im * cos


@triton.jit
def _bytes(x, base, newest, end, COUNT: tl.constexpr, STEPS: tl.constexpr):
    """The COUNT newest bytes of blocks, oldest first, and which of them are in the row."""
    lag = STEPS - 1 - tl.arange(0, STEPS)
    at = newest[:, None] - lag[None, :]
    here = (at >= 0) & (at < end[:, None]) & (lag < COUNT)[None, :]
    return tl.load(x + base[:, None] + at, mask=here, other=0), here


@triton.jit
def _block_sums(byte, here, tiles, SHIFT: tl.constexpr, LIMBS: tl.constexpr):
    """Sums over blocks, phases counted from each block's end."""
    u = byte.to(tl.float32) * (2.0 ** (1 - SHIFT)) - 255.0 * 2.0**-SHIFT
    return dot_tiles(tl.where(here, u, 0.0), tiles, LIMBS)


@triton.jit
def _few_sums(x, tiles, turns, base, newest, end, k, K, GROUPS: tl.constexpr, GROUP,
              SHIFT: tl.constexpr, LIMBS: tl.constexpr, Q: tl.constexpr, STEPS: tl.constexpr,
              QP: tl.constexpr, BE: tl.constexpr, good):  # fmt: skip
    """For each chunk the sum over the Q blocks before it, phases counted from the chunk."""
    o = tl.arange(0, QP)
    sum_re = tl.zeros((QP, BE), tl.float32)
    sum_im = tl.zeros((QP, BE), tl.float32)
    for i in tl.static_range(Q):
        cos, sin = _turns(turns, o * 0 + (Q - i), k, K, GROUPS, GROUP, good)
        byte, here = _bytes(x, base, newest - (i * STEPS + 1), end, STEPS, STEPS)
        re, im = _block_sums(byte, here, tiles, SHIFT, LIMBS)
        re, im = _turned(re, im, cos, sin)
        sum_re += re
        sum_im += im
    return sum_re, sum_im


@triton.jit
def _many_sums(x, tiles, turns, base, newest, end, reaches, k, K, GROUPS: tl.constexpr, GROUP,
               SHIFT: tl.constexpr, LIMBS: tl.constexpr, Q: tl.constexpr, STEPS: tl.constexpr,
               QP: tl.constexpr, good):  # fmt: skip
    """The same, phases counted from the segment's start. Q blocks reach over two segments of Q
    chunks: the end of the one before, unless none of it is in the row, and the start of this one.
    No sum holds a byte of its chunk or a later one, not even for a moment: that would show in the
    last bits.
    """
    o = tl.arange(0, QP)
    new, new_here = _bytes(x, base, newest - 1, tl.where(o > 0, end, 0), STEPS, STEPS)
    old, old_here = _bytes(x, base, newest - (Q * STEPS - STEPS + 1), end, STEPS, STEPS)
    new_cos, new_sin = _turns(turns, o + Q, k, K, GROUPS, GROUP, good)
    old_cos, old_sin = _turns(turns, o + 1, k, K, GROUPS, GROUP, good)
    re, im = _block_sums(new, new_here, tiles, SHIFT, LIMBS)
    re, im = _turned(re, im, new_cos, new_sin)
    sum_re = tl.cumsum(re, axis=0)
    sum_im = tl.cumsum(im, axis=0)
    if reaches:
        re, im = _block_sums(old, old_here, tiles, SHIFT, LIMBS)
        re, im = _turned(re, im, old_cos, old_sin)
        sum_re += tl.cumsum(re, axis=0, reverse=True)
        sum_im += tl.cumsum(im, axis=0, reverse=True)
    return sum_re, sum_im


@triton.jit
def _put_moves(x, moves, base, newest, end, row, live, scale, W: tl.constexpr,
               STEPS: tl.constexpr):  # fmt: skip
    """Store for each position of a chunk the byte that enters the window and that which leaves."""
    n = tl.arange(0, STEPS)
    to = moves + (row * (2 * STEPS))[:, None] + 2 * n[None, :]
    put = live[:, None] & (n >= 0)[None, :]
    for i in tl.static_range(2):
        at = newest[:, None] + n[None, :] - i * W
        here = put & (at >= 0) & (at < end)
        byte = tl.load(x + base[:, None] + at, mask=here, other=0).to(tl.float32)
        value = tl.where(here, byte * (scale * (2.0 / 255.0)) - scale, 0.0)
        tl.store(to + i, value, mask=put)


@triton.jit
def windows(x, taps, turns, state, moves, lengths, length, stride_x, offset, chunks, segments, K,
            scale, W: tl.constexpr, KP: tl.constexpr, SHIFT: tl.constexpr, LIMBS: tl.constexpr,
            GROUPS: tl.constexpr, HAS_LENGTHS: tl.constexpr, STEPS: tl.constexpr,
            QP: tl.constexpr, FEW: tl.constexpr, BE: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """`state` (B*chunks, GROUPS, 2, K): sums at w, w+d, w-d one position before each chunk; `moves`
    (B*chunks, STEPS, 2): scale times the byte that comes and the one that leaves, by position.

    Grid (B*segments, tiles of bins, GROUPS). taps (LIMBS, STEPS, 2 KP): e^{-iv(l+1)} of the lags
    l, for v = w, w+d, w-d; turns (2Q+1, 3, 2, K): e^{iv STEPS r}, r = -Q..Q, Q = W // STEPS.
    FEW: blocks are added one by one, else as running sums.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    Q: tl.constexpr = W // STEPS
    REST: tl.constexpr = W % STEPS
    rows: tl.constexpr = QP if FEW else Q
    b = tl.program_id(0) // segments
    segment = tl.program_id(0) - b * segments
    o = tl.arange(0, QP)
    chunk = segment * rows + o
    k = tl.program_id(1) * BE + tl.arange(0, BE)
    group = tl.program_id(2)
    good = (o < rows)[:, None] & (k < K)[None, :]
    tiles = tap_tiles(taps, group * (KP // GROUPS) + k, STEPS, KP, LIMBS)
    if not FEW:
        back_cos, back_sin = _turns(turns, Q - o, k, K, GROUPS, group, good)
    if PDL:
        tl.extra.cuda.gdc_wait()
    end = length
    if HAS_LENGTHS:
        end = tl.minimum(end, tl.load(lengths + b))
    base = b.to(tl.int64) * stride_x + o * 0
    newest = chunk * STEPS + offset
    ends = tl.where(o < rows, end, 0)
    if FEW:
        here = o * 0
        sum_re, sum_im = _few_sums(x, tiles, turns, base, newest, ends, k, K, GROUPS, group, SHIFT,
                                   LIMBS, Q, STEPS, QP, BE, good)  # fmt: skip
    else:
        here = o
        reaches = segment * (Q * STEPS) + offset > 0
        sum_re, sum_im = _many_sums(x, tiles, turns, base, newest, ends, reaches, k, K, GROUPS,
                                    group, SHIFT, LIMBS, Q, STEPS, QP, good)  # fmt: skip
    if REST > 0:
        byte, inside = _bytes(x, base, newest - (Q * STEPS + 1), ends, REST, STEPS)
        re, im = _block_sums(byte, inside, tiles, SHIFT, LIMBS)
        cos, sin = _turns(turns, here, k, K, GROUPS, group, good)
        re, im = _turned(re, im, cos, sin)
        sum_re += re
        sum_im += im
    if not FEW:
        sum_re, sum_im = _turned(sum_re, sum_im, back_cos, back_sin)
    row = b.to(tl.int64) * chunks + chunk
    live = (o < rows) & (chunk < chunks)
    to = state + row[:, None] * (2 * GROUPS * K) + k[None, :]
    tl.store(to + 2 * group * K, sum_re, mask=good & live[:, None])
    tl.store(to + (2 * group + 1) * K, sum_im, mask=good & live[:, None])
    if (tl.program_id(1) == 0) & (group == 0):
        _put_moves(x, moves, base, newest, end, row, live, scale, W, STEPS)

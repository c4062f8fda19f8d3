"""Frames of bytes on sm_90, from global memory into the registers of a product's operand."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _bytes(x, lengths, tile, M, T, stride_x, history, shift, W: gl.constexpr, WP: gl.constexpr,
           BM: gl.constexpr, HAS_LENGTHS: gl.constexpr, operand: gl.constexpr):  # fmt: skip
    """Frames of a row tile (BM, WP), oldest byte first, and which of them are in the row."""
    m = tile * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, operand))
    lag = WP - 1 - gl.arange(0, WP, layout=gl.SliceLayout(0, operand))
    b = m // T
    t = m - b * T
    end = m - m + (T + history)
    if HAS_LENGTHS:
        end = gl.minimum(end, gl.load(lengths + b, mask=m < M, other=0))
        end = gl.where(t + history < end, end, 0)  # past the end: an empty frame, so 0
    at = gl.expand_dims(t + (history + shift), 1) - gl.expand_dims(lag, 0)
    # a row tile may reach past the last row: what stands there is never stored
    here = (at >= 0) & (at < gl.expand_dims(end, 1)) & gl.expand_dims(m < M, 1)
    if WP != W:
        here = here & gl.expand_dims(lag < W, 0)
    row = b.to(gl.int64) * stride_x
    return gl.load(x + (gl.expand_dims(row, 1) + at), mask=here, other=0), here


@gluon.jit
def half(byte, SHIFT: gl.constexpr):
    """(2x - 255) / 2^SHIFT, exact in fp16: 0x6400 | x is 1024 + x."""
    whole = (byte.to(gl.uint16) | 0x6400).to(gl.float16, bitcast=True) - 1024.0
    return (whole * (2.0 ** (1 - SHIFT)) - 255.0 * 2.0**-SHIFT).to(gl.float16)


@gluon.jit
def frame_of(x, lengths, tile, M, T, stride_x, history, shift, W: gl.constexpr, WP: gl.constexpr,
           SHIFT: gl.constexpr, BM: gl.constexpr, HAS_LENGTHS: gl.constexpr,
           REGULAR: gl.constexpr, operand: gl.constexpr):  # fmt: skip
    """The left operand (BM, WP) fp16; 0 outside the row.

    REGULAR: every tile lies in one row, causal, without history and lengths, and W == WP, so that
    only tiles at a row's start need a mask, and only for what is before the row.
    """
    b = tile * BM // T
    newest = tile * BM - b * T + history + shift  # of the tile's first row
    row = gl.arange(0, BM, layout=gl.SliceLayout(1, operand))
    j = gl.arange(0, WP, layout=gl.SliceLayout(0, operand))
    # row + j, with what differs between threads of the operand's layout apart from what differs
    # between registers: addresses are then one base and constants, and equal ones are seen
    of_thread = gl.expand_dims(row & ~8, 1) + gl.expand_dims(j & 6, 0)
    of_register = gl.expand_dims(row & 8, 1) + gl.expand_dims(j & ~6, 0)
    base = x + (b.to(gl.int64) * stride_x + (newest - (WP - 1))) + of_thread
    inside = newest >= WP - 1
    if not REGULAR:
        inside &= (newest + BM <= T + history) & (b * T + T >= tile * BM + BM)
    if WP == W and not HAS_LENGTHS and inside:
        frame = half(gl.load(base + of_register), SHIFT)  # most tiles: no row starts or ends here
    elif not REGULAR:
        byte, here = _bytes(x, lengths, tile, M, T, stride_x, history, shift, W, WP, BM,
                            HAS_LENGTHS, operand)  # fmt: skip
        frame = gl.where(here, half(byte, SHIFT), 0.0).to(gl.float16)
    else:
        here = of_register >= WP - 1 - newest - of_thread
        byte = gl.load(base + of_register, mask=here, other=0)
        frame = gl.where(here, half(byte, SHIFT), 0.0).to(gl.float16)
    return frame

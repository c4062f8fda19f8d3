"""Frames of bytes on sm_90, from global memory into the registers of a product's operand."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _bytes(x, lengths, tile, M, T, stride_x, history, S: gl.constexpr, operand: gl.constexpr):
    """Frames of a row tile (bm, rows), oldest byte first, and which of them are in the row. Taps of
    bytes before the window are 0, so these need not be told apart."""
    m = tile * S.bm + gl.arange(0, S.bm, layout=gl.SliceLayout(1, operand))
    lag = S.rows - 1 - gl.arange(0, S.rows, layout=gl.SliceLayout(0, operand))
    b = m // T
    t = m - b * T
    end = m - m + (T + history)
    if S.lengths:
        end = gl.minimum(end, gl.load(lengths + b, mask=m < M, other=0))
        end = gl.where(t + history < end, end, 0)  # past the end: an empty frame, so 0
    at = gl.expand_dims(t + (history + S.shift), 1) - gl.expand_dims(lag, 0)
    # a row tile may reach past the last row: what stands there is never stored
    here = (at >= 0) & (at < gl.expand_dims(end, 1)) & gl.expand_dims(m < M, 1)
    row = b.to(gl.int64) * stride_x
    return gl.load(x + (gl.expand_dims(row, 1) + at), mask=here, other=0), here


@gluon.jit
def half(byte, SCALE: gl.constexpr):
    """(2x - 255) / 2^SCALE, exact in fp16: 0x6400 | x is 1024 + x."""
    whole = (byte.to(gl.uint16) | 0x6400).to(gl.float16, bitcast=True) - 1024.0
    return (whole * (2.0 ** (1 - SCALE)) - 255.0 * 2.0**-SCALE).to(gl.float16)


@gluon.jit
def frame_of(x, lengths, tile, M, T, stride_x, history, S: gl.constexpr, operand: gl.constexpr):
    """The left operand (bm, rows) fp16; 0 outside the row.

    S.regular: every tile lies in one row, causal, without history and lengths, so that only tiles at
    a row's start need a mask, and only for what is before the row.
    """
    SCALE: gl.constexpr = S.scale
    LAST: gl.constexpr = S.rows - 1
    b = tile * S.bm // T
    newest = tile * S.bm - b * T + history + S.shift  # of the tile's first row
    row = gl.arange(0, S.bm, layout=gl.SliceLayout(1, operand))
    j = gl.arange(0, S.rows, layout=gl.SliceLayout(0, operand))
    # row + j, with what differs between threads of the operand's layout apart from what differs
    # between registers: addresses are then one base and constants, and equal ones are seen
    of_thread = gl.expand_dims(row & ~8, 1) + gl.expand_dims(j & 6, 0)
    of_register = gl.expand_dims(row & 8, 1) + gl.expand_dims(j & ~6, 0)
    base = x + (b.to(gl.int64) * stride_x + (newest - LAST)) + of_thread
    inside = newest >= LAST
    if not S.regular:
        inside &= (newest + S.bm <= T + history) & (b * T + T >= tile * S.bm + S.bm)
    if not S.lengths and inside:
        frame = half(gl.load(base + of_register), SCALE)  # most tiles: no row starts or ends here
    elif not S.regular:
        byte, here = _bytes(x, lengths, tile, M, T, stride_x, history, S, operand)
        frame = gl.where(here, half(byte, SCALE), 0.0).to(gl.float16)
    else:
        here = of_register >= LAST - newest - of_thread
        byte = gl.load(base + of_register, mask=here, other=0)
        frame = gl.where(here, half(byte, SCALE), 0.0).to(gl.float16)
    return frame

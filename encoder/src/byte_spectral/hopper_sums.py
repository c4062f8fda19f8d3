"""The sums over windows that the walk of `hopper_sliding` starts from, made and kept on chip.

A block is STEPS bytes. Tensor cores make its sum at w from the bytes, and those at w+d and w-d from
the bytes times cos and sin, so that one table of exponentials serves all three. The sums over
whole windows are scans over blocks: in the diagonal form (P, C + iS, C - iS) a block further is one
factor.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, mma_v2


@gluon.constexpr_function
def log2(n):
    return n.bit_length() - 1


@gluon.jit
def rows_of(v, COUNT: gl.constexpr, WIDTH: gl.constexpr, LOG: gl.constexpr, one: gl.constexpr):
    """(COUNT, WIDTH) -> its rows, all of which a thread holds: registers only."""
    items = (v,)
    for level in gl.static_range(LOG):
        halves = ()
        for i in gl.static_range(1 << level):
            split = items[i].reshape([2, COUNT >> (level + 1), WIDTH]).permute([1, 2, 0])
            a, b = gl.split(split)
            halves += (a, b)
        items = halves
    found = ()
    for i in gl.static_range(COUNT):
        found += (gl.convert_layout(items[i].reshape([WIDTH]), one),)
    return found


@gluon.jit
def _stack(items, COUNT: gl.constexpr, WIDTH: gl.constexpr, LOG: gl.constexpr):
    """The inverse of `rows_of`."""
    for level in gl.static_range(LOG):
        pairs = ()
        for i in gl.static_range(COUNT >> (level + 1)):
            a = items[2 * i].reshape([1 << level, WIDTH])
            b = items[2 * i + 1].reshape([1 << level, WIDTH])
            pairs += (gl.join(a, b).permute([2, 0, 1]).reshape([2 << level, WIDTH]),)
        items = pairs
    return items[0]


@gluon.jit
def block_bytes(x, row, first, length, CHUNKS: gl.constexpr, STEPS: gl.constexpr,
                flat: gl.constexpr):  # fmt: skip
    """The bytes of the blocks from position `first` on, (CHUNKS, STEPS) fp32, and which are in
    the row."""
    c = gl.arange(0, CHUNKS, layout=gl.SliceLayout(1, flat))
    j = gl.arange(0, STEPS, layout=gl.SliceLayout(0, flat))
    at = first + gl.expand_dims(c * STEPS, 1) + gl.expand_dims(j, 0)
    here = (at >= 0) & (at < length)
    return gl.load(x + row + at, mask=here, other=0).to(gl.float32), here


@gluon.jit
def _block_sums(u, cos, sin, left, taps, ready, LIMBS: gl.constexpr, BYTE_LIMBS: gl.constexpr,
                CHUNKS: gl.constexpr, BE: gl.constexpr, mma: gl.constexpr,
                columns: gl.constexpr):  # fmt: skip
    """re, im of the blocks' sums at w, w-d, w+d, w-d as columns 4k .. 4k + 3, a column a thread;
    phases from the block's end. LIMBS of the exponentials, BYTE_LIMBS of bytes times cos and sin.
    """
    one: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    two: gl.constexpr = gl.DotOperandLayout(1, mma, 2)
    a = u * cos
    b = u * sin
    high_a = a.to(gl.float16)
    high_b = b.to(gl.float16)
    left.index(0).store(u.to(gl.float16))
    left.index(1).store(high_a)
    left.index(2).store(high_b)
    if BYTE_LIMBS == 2:
        left.index(3).store((a - high_a.to(gl.float32)).to(gl.float16))
        left.index(4).store((b - high_b.to(gl.float32)).to(gl.float16))
    p = gl.zeros((CHUNKS, 2 * BE), gl.float32, mma)
    c = gl.zeros((CHUNKS, 2 * BE), gl.float32, mma)
    s = gl.zeros((CHUNKS, 2 * BE), gl.float32, mma)
    mbarrier.wait(ready, 0)
    for limb in gl.static_range(LIMBS):
        right = taps.index(limb).load(two)
        p = mma_v2(left.index(0).load(one), right, p)
        c = mma_v2(left.index(1).load(one), right, c)
        s = mma_v2(left.index(2).load(one), right, s)
        if BYTE_LIMBS == 2 and limb == 0:
            c = mma_v2(left.index(3).load(one), right, c)
            s = mma_v2(left.index(4).load(one), right, s)
    p_re, p_im = gl.split(p.reshape([CHUNKS, BE, 2]))
    c_re, c_im = gl.split(c.reshape([CHUNKS, BE, 2]))
    s_re, s_im = gl.split(s.reshape([CHUNKS, BE, 2]))
    more_re = c_re - s_im
    more_im = c_im + s_re
    less_re = c_re + s_im
    less_im = c_im - s_re
    re = gl.join(gl.join(p_re, more_re), gl.join(less_re, less_re)).reshape([CHUNKS, 4 * BE])
    im = gl.join(gl.join(p_im, more_im), gl.join(less_im, less_im)).reshape([CHUNKS, 4 * BE])
    return gl.convert_layout(re, columns), gl.convert_layout(im, columns)


@gluon.jit
def _scan(re, im, z_re, z_im, CHUNKS: gl.constexpr, WIDTH: gl.constexpr, one: gl.constexpr):
    """For this segment, before each chunk: n[0] = 0, n[c+1] = z n[c] + sum[c]."""
    sums_re = rows_of(re, CHUNKS, WIDTH, log2(CHUNKS), one)
    sums_im = rows_of(im, CHUNKS, WIDTH, log2(CHUNKS), one)
    n_re = sums_re[0] * 0.0
    n_im = n_re
    found_re = (n_re,)
    found_im = (n_im,)
    for c in gl.static_range(CHUNKS - 1):
        new_re = n_re * z_re - n_im * z_im + sums_re[c]
        n_im = n_re * z_im + n_im * z_re + sums_im[c]
        n_re = new_re
        found_re += (n_re,)
        found_im += (n_im,)
    return _stack(found_re, CHUNKS, WIDTH, log2(CHUNKS)), _stack(
        found_im, CHUNKS, WIDTH, log2(CHUNKS)
    )


@gluon.jit
def _back_scan(re, im, z_re, z_im, last_re, last_im, CHUNKS: gl.constexpr, WIDTH: gl.constexpr,
               one: gl.constexpr):  # fmt: skip
    """The part of the previous segment that the windows of these chunks still reach:
    o[c] = z^c sum over c' >= c of z^(CHUNKS-1-c') sum[c']; last = z^(CHUNKS-1)."""
    sums_re = rows_of(re, CHUNKS, WIDTH, log2(CHUNKS), one)
    sums_im = rows_of(im, CHUNKS, WIDTH, log2(CHUNKS), one)
    f_re = sums_re[0] * 0.0 + 1.0
    f_im = sums_re[0] * 0.0
    q_re = f_im
    q_im = f_im
    w_re = last_re
    w_im = last_im
    found_re = ()
    found_im = ()
    for i in gl.static_range(CHUNKS):
        a = sums_re[CHUNKS - 1 - i]
        b = sums_im[CHUNKS - 1 - i]
        q_re = q_re + a * f_re - b * f_im
        q_im = q_im + a * f_im + b * f_re
        # first the last, and Triton knows no star
        found_re = (q_re * w_re - q_im * w_im,) + found_re  # noqa: RUF005
        found_im = (q_re * w_im + q_im * w_re,) + found_im  # noqa: RUF005
        new_re = f_re * z_re - f_im * z_im
        f_im = f_re * z_im + f_im * z_re
        f_re = new_re
        new_re = w_re * z_re + w_im * z_im
        w_im = w_im * z_re - w_re * z_im
        w_re = new_re
    return _stack(found_re, CHUNKS, WIDTH, log2(CHUNKS)), _stack(
        found_im, CHUNKS, WIDTH, log2(CHUNKS)
    )


@gluon.jit
def _unjoined(v, CHUNKS: gl.constexpr, BE: gl.constexpr, wide: gl.constexpr, main: gl.constexpr):
    """(CHUNKS, 4 BE) by columns -> of P, C + iS, C - iS (CHUNKS, BE) as the walk holds them."""
    four = gl.convert_layout(v.reshape([CHUNKS, BE, 2, 2]), wide)
    first, second = gl.split(four)
    p, more = gl.split(first)
    less, _ = gl.split(second)
    p = gl.convert_layout(p, main)
    return p, gl.convert_layout(more, main), gl.convert_layout(less, main)


@gluon.jit
def window_sums(x, taps, ready, left, turn, row, first, length, column, z_re, z_im, cos, sin,
                K: gl.constexpr, CHUNKS: gl.constexpr, STEPS: gl.constexpr, SHIFT: gl.constexpr,
                LIMBS: gl.constexpr, BYTE_LIMBS: gl.constexpr, BE: gl.constexpr,
                mma: gl.constexpr, flat: gl.constexpr, columns: gl.constexpr, wide: gl.constexpr,
                main: gl.constexpr):  # fmt: skip
    """P, C, S (re and im; CHUNKS, BE) of the windows that end just before each chunk of the segment
    at `first`. No sum holds a byte of its chunk or a later one, not even for a moment: that
    would show in the last bits."""
    WIDTH: gl.constexpr = 4 * BE
    one: gl.constexpr = gl.SliceLayout(0, columns)
    byte, here = block_bytes(x, row, first, length, CHUNKS, STEPS, flat)
    u = gl.where(here, byte * (2.0 ** (1 - SHIFT)) - 255.0 * 2.0**-SHIFT, 0.0)
    re, im = _block_sums(u, cos, sin, left, taps, ready, LIMBS, BYTE_LIMBS, CHUNKS, BE, mma,
                         columns)  # fmt: skip
    sum_re, sum_im = _scan(re, im, z_re, z_im, CHUNKS, WIDTH, one)
    if first > 0:
        last_re = gl.load(turn + 8 * K + column)
        last_im = gl.load(turn + 12 * K + column)
        byte, here = block_bytes(x, row, first - CHUNKS * STEPS, length, CHUNKS, STEPS, flat)
        u = gl.where(here, byte * (2.0 ** (1 - SHIFT)) - 255.0 * 2.0**-SHIFT, 0.0)
        re, im = _block_sums(u, cos, sin, left, taps, ready, LIMBS, BYTE_LIMBS, CHUNKS, BE, mma,
                             columns)  # fmt: skip
        old_re, old_im = _back_scan(re, im, z_re, z_im, last_re, last_im, CHUNKS, WIDTH, one)
        sum_re = sum_re + old_re
        sum_im = sum_im + old_im
    p_re, more_re, less_re = _unjoined(sum_re, CHUNKS, BE, wide, main)
    p_im, more_im, less_im = _unjoined(sum_im, CHUNKS, BE, wide, main)
    c_re = 0.5 * (more_re + less_re)
    c_im = 0.5 * (more_im + less_im)
    s_re = 0.5 * (more_im - less_im)
    s_im = 0.5 * (less_re - more_re)
    return p_re, p_im, c_re, c_im, s_re, s_im

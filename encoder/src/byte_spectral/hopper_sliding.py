"""The sliding form of "tail" for sm_90 in one kernel: a program is a window's length of one row.

First the sums over the window before each chunk (`hopper_sums`); then the walk, which carries them
from position to position as `sliding.slide` does, but CHUNKS chunks side by side. Phases are
counted from the start of a block of TURNS positions, so e^{iwr}, r < TURNS, stays in registers and
cos(dr), sin(dr) are constants of the code; at a block's end the three sums are turned back.

Where N divides W = CHUNKS * STEPS, causal, without lengths and history; "mag", "logmag", "power".
"""

from __future__ import annotations

import math

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from byte_spectral.hopper import thread_barrier
from byte_spectral.hopper_sums import block_bytes, log2, rows_of, window_sums


@gluon.constexpr_function
def cos(n, W):
    return math.cos(math.pi * n / W)


@gluon.constexpr_function
def sin(n, W):
    return math.sin(math.pi * n / W)


@gluon.jit
def _moved(x, row, first, length, scale, CHUNKS: gl.constexpr, STEPS: gl.constexpr,
           flat: gl.constexpr):  # fmt: skip
    byte, here = block_bytes(x, row, first, length, CHUNKS, STEPS, flat)
    return gl.where(here, byte * (scale * (2.0 / 255.0)) - scale, 0.0)


@gluon.jit
def _put_moves(x, moves, row, first, length, scale, CHUNKS: gl.constexpr, STEPS: gl.constexpr,
               TURNS: gl.constexpr, flat: gl.constexpr):  # fmt: skip
    """For each position scale times (the byte that comes - the one that leaves, their sum)."""
    BLOCKS: gl.constexpr = STEPS // TURNS
    new = _moved(x, row, first, length, scale, CHUNKS, STEPS, flat)
    old = _moved(x, row, first - CHUNKS * STEPS, length, scale, CHUNKS, STEPS, flat)
    both = gl.join(new - old, new + old).reshape([CHUNKS, BLOCKS, 2 * TURNS])
    moves.store(both.permute([1, 0, 2]).reshape([BLOCKS * CHUNKS, 2 * TURNS]))


@gluon.jit
def _put(to, power, inside, EVEN: gl.constexpr, PARTS: gl.constexpr):
    value = power
    if PARTS != "power":
        value = gl.inline_asm_elementwise("sqrt.approx.ftz.f32 $0, $1;", "=f,f", [power],
                                          dtype=gl.float32, is_pure=True, pack=1)  # fmt: skip
    if PARTS == "logmag":
        value = gl.log(value + 1e-3)
    value = value.to(to.dtype.element_ty)
    if EVEN:
        gl.store(to, value, cache_modifier=".cs")
    else:
        gl.store(to, value, mask=inside, cache_modifier=".cs")


# a length of 1 is a number like others: as a constant Triton 3.6 cannot compile it
@gluon.jit(do_not_specialize=["length", "stride_x"])
def walk(x, taps, out, table, turn, ramp, length, stride_x, scale,
         K: gl.constexpr, CHUNKS: gl.constexpr, STEPS: gl.constexpr, TURNS: gl.constexpr,
         BE: gl.constexpr, SHIFT: gl.constexpr, LIMBS: gl.constexpr, BYTE_LIMBS: gl.constexpr,
         PARTS: gl.constexpr, EVEN: gl.constexpr, PDL: gl.constexpr):  # fmt: skip
    """Grid (B * segments, K / BE); a segment is W positions of a row. EVEN: W divides the length.

    For the constants see `pack.walking`. scale: g / 2, of what moves into and out of the window.
    """
    W: gl.constexpr = CHUNKS * STEPS
    warps: gl.constexpr = gl.num_warps()
    per: gl.constexpr = CHUNKS // warps
    bins: gl.constexpr = BE // 32  # a lane
    main: gl.constexpr = gl.BlockedLayout([per, bins], [1, 32], [warps, 1], [1, 0])
    wide: gl.constexpr = gl.BlockedLayout([per, bins, 2, 2], [1, 32, 1, 1], [warps, 1, 1, 1],
                                          [3, 2, 1, 0])  # fmt: skip
    flat: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [warps, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([CHUNKS, 1], [1, 32], [1, warps], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [1, warps], [16, 8])
    whole: gl.constexpr = gl.BlockedLayout([per, 2 * TURNS], [1, 32], [warps, 1], [1, 0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    operand: gl.constexpr = gl.NVMMASharedLayout.get_default_for([CHUNKS, STEPS], gl.float16)
    BLOCKS: gl.constexpr = STEPS // TURNS
    buffers = gl.allocate_shared_memory(gl.float16, [LIMBS, STEPS, 2 * BE], taps.layout)
    left = gl.allocate_shared_memory(gl.float16, [2 * BYTE_LIMBS + 1, CHUNKS, STEPS], operand)
    moves = gl.allocate_shared_memory(gl.float32, [BLOCKS, CHUNKS, 2 * TURNS], plain)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    if PDL:
        gdc_launch_dependents()
    tile = gl.program_id(1)
    mbarrier.expect(ready, LIMBS * STEPS * 2 * BE * 2)
    for limb in gl.static_range(LIMBS):
        tma.async_copy_global_to_shared(taps, [(tile * LIMBS + limb) * STEPS, 0], ready,
                                        buffers.index(limb))  # fmt: skip
    j = gl.arange(0, STEPS, layout=gl.SliceLayout(0, flat))
    ramp_cos = gl.expand_dims(gl.load(ramp + j), 0)
    ramp_sin = gl.expand_dims(gl.load(ramp + STEPS + j), 0)
    column = tile * (4 * BE) + gl.arange(0, 4 * BE, layout=gl.SliceLayout(0, columns))
    z_re = gl.load(turn + column)
    z_im = gl.load(turn + 4 * K + column)
    if PDL:  # constants were there before; only the bytes may be the last kernel's work
        gdc_wait()
    segments = (length + W - 1) // W
    b = gl.program_id(0) // segments
    row = b.to(gl.int64) * stride_x
    first = (gl.program_id(0) - b * segments) * W
    flat_moves = moves._reinterpret(gl.float32, [BLOCKS * CHUNKS, 2 * TURNS], plain)
    _put_moves(x, flat_moves, row, first, length, scale, CHUNKS, STEPS, TURNS, flat)
    p_re, p_im, c_re, c_im, s_re, s_im = window_sums(
        x, buffers, ready, left, turn, row, first, length, column, z_re, z_im, ramp_cos, ramp_sin,
        K, CHUNKS, STEPS, SHIFT, LIMBS, BYTE_LIMBS, BE, mma, flat, columns, wide, main)  # fmt: skip
    k = tile * BE + gl.arange(0, BE, layout=gl.SliceLayout(0, main))
    turns = ()
    for r in gl.static_range(2 * TURNS + 2):
        turns += (gl.expand_dims(gl.load(table + r * K + k), 0),)
    c = gl.arange(0, CHUNKS, layout=gl.SliceLayout(1, main))
    t = gl.expand_dims(first + c * STEPS, 1)
    to = out + (b.to(gl.int64) * length + first) * K
    to = to + (gl.expand_dims(c * (STEPS * K), 1) + gl.expand_dims(k, 0))
    thread_barrier()  # `moves` is written, under another shape
    for block in range(BLOCKS):
        given = rows_of(moves.index(block).load(whole).permute([1, 0]), 2 * TURNS, CHUNKS,
                        log2(2 * TURNS), gl.SliceLayout(1, main))  # fmt: skip
        for r in gl.static_range(TURNS):
            e_re = turns[2 * r]
            e_im = turns[2 * r + 1]
            less = gl.expand_dims(given[2 * r], 1)
            more = gl.expand_dims(given[2 * r + 1], 1)
            p_re += less * e_re
            p_im += less * e_im
            a_re = more * e_re
            a_im = more * e_im
            c_re += cos(r, W) * a_re
            c_im += cos(r, W) * a_im
            s_re += sin(r, W) * a_re
            s_im += sin(r, W) * a_im
            x_re = p_re + cos(r, W) * c_re
            x_im = p_im + cos(r, W) * c_im
            x_re += sin(r, W) * s_re
            x_im += sin(r, W) * s_im
            inside = (t + r < length) & gl.expand_dims(k < K, 0)
            _put(to + r * K, x_re * x_re + x_im * x_im, inside, EVEN, PARTS)
        to = to + TURNS * K
        t = t + TURNS
        old_re = turns[2 * TURNS]  # e^{-iw TURNS}
        old_im = turns[2 * TURNS + 1]
        q_re = cos(TURNS, W) * c_re + sin(TURNS, W) * s_re
        q_im = cos(TURNS, W) * c_im + sin(TURNS, W) * s_im
        s_re = cos(TURNS, W) * s_re - sin(TURNS, W) * c_re
        s_im = cos(TURNS, W) * s_im - sin(TURNS, W) * c_im
        c_re = q_re * old_re - q_im * old_im
        c_im = q_re * old_im + q_im * old_re
        q_re = s_re * old_re - s_im * old_im
        s_im = s_re * old_im + s_im * old_re
        s_re = q_re
        q_re = p_re * old_re - p_im * old_im
        p_im = p_re * old_im + p_im * old_re
        p_re = q_re

"""The sliding form on the tensor cores of sm_90: what enters and leaves a window within a chunk of
STEPS positions is a product of 2 STEPS taps; what was in it before is one state a chunk."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, warpgroup_mma_wait
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from tritonwin.spectral.hopper import _copy_taps, _half, re_and_im, select_parts, spectrum


@gluon.constexpr_function
def by_sixteen(BM, BE, warps, pairs):
    """`hopper.store_layout` with its rows as (16s, row of 16)."""
    registers = [[0, 0, 1]] + [[0, 0, 2 << i] for i in range(pairs.bit_length() - 1)]
    registers += [[0, 8, 0]]
    width = 8 * pairs
    while width < BE:
        registers.append([0, 0, width])
        width *= 2
    lanes = [[0, 0, 2 * pairs], [0, 0, 4 * pairs], [0, 1, 0], [0, 2, 0], [0, 4, 0]]
    rows = [[1 << i, 0, 0] for i in range(warps.bit_length() - 1)]
    return gl.DistributedLinearLayout(registers, lanes, rows, [], [BM // 16, 16, BE])


@gluon.jit
def _frame(x, row, newest, length, W: gl.constexpr, STEPS: gl.constexpr, SHIFT: gl.constexpr,
           BM: gl.constexpr, operand: gl.constexpr):  # fmt: skip
    """(BM, 2 STEPS): of each position the bytes that left since its chunk began, then those that
    came, oldest first; 0 for those of other chunks and outside the row."""
    m = gl.arange(0, BM, layout=gl.SliceLayout(1, operand))
    j = gl.arange(0, 2 * STEPS, layout=gl.SliceLayout(0, operand))
    r = STEPS - 1 - j % STEPS
    lag = gl.where(j >= STEPS, r, r + W)
    at = gl.expand_dims(m + newest, 1) - gl.expand_dims(lag, 0)
    here = (at >= 0) & (at < length)
    here = here & (gl.expand_dims(r, 0) <= gl.expand_dims(m % STEPS, 1))
    byte = gl.load(x + row + at, mask=here, other=0)
    return gl.where(here, _half(byte, SHIFT), 0.0).to(gl.float16)


@gluon.jit
def _ordered(value, BM: gl.constexpr, BE: gl.constexpr, PAIRS: gl.constexpr,
             place: gl.constexpr):  # fmt: skip
    """Accumulators under the names of their bins: registers stay where they are."""
    split = value.reshape([BM, BE // (8 * PAIRS), PAIRS, 4, 2])
    whole = split.permute([0, 1, 3, 2, 4]).reshape([BM // 16, 16, BE])
    return gl.convert_layout(whole, place)


@gluon.jit
def _states(state, chunk, bins, K, TAIL: gl.constexpr, kept):
    """P, C, S at the start of the chunk of each 16 rows."""
    at = state + (gl.expand_dims(chunk, 1) * ((6 if TAIL else 2) * K) + gl.expand_dims(bins, 0))
    p_re = gl.load(at, mask=kept, other=0.0)
    p_im = gl.load(at + K, mask=kept, other=0.0)
    if TAIL:
        more_re = gl.load(at + 2 * K, mask=kept, other=0.0)
        more_im = gl.load(at + 3 * K, mask=kept, other=0.0)
        less_re = gl.load(at + 4 * K, mask=kept, other=0.0)
        less_im = gl.load(at + 5 * K, mask=kept, other=0.0)
    else:
        more_re, more_im, less_re, less_im = p_re, p_im, p_re, p_im
    return p_re, p_im, more_re, more_im, less_re, less_im


@gluon.jit
def _put(where, value, inside, EVEN: gl.constexpr, CACHE: gl.constexpr):
    value = value.to(where.dtype.element_ty)
    if EVEN:
        gl.store(where, value, cache_modifier=CACHE)
    else:
        gl.store(where, value, mask=inside, cache_modifier=CACHE)


@gluon.jit
def _turns(table, n, bins, K, EVEN: gl.constexpr):
    """e^{iwn} of every row and bin."""
    at = table + gl.expand_dims(n * (2 * K), 2)
    at = at + gl.expand_dims(gl.expand_dims(bins, 0), 1)
    if EVEN:
        re = gl.load(at)
        im = gl.load(at + K)
    else:
        kept = gl.expand_dims(n >= 0, 2) & gl.expand_dims(gl.expand_dims(bins < K, 0), 1)
        re = gl.load(at, mask=kept, other=0.0)
        im = gl.load(at + K, mask=kept, other=0.0)
    return re, im


@gluon.jit
def slide(x, taps, out, state, table, ramp, per_row, tiles, R, length, stride_x, offset, chunks, K,
          E, W: gl.constexpr, STEPS: gl.constexpr, SHIFT: gl.constexpr, LIMBS: gl.constexpr,
          TAIL: gl.constexpr, PARTS: gl.constexpr, EVEN_M: gl.constexpr, EVEN_K: gl.constexpr,
          BM: gl.constexpr, BE: gl.constexpr, CHUNKS: gl.constexpr, CACHE: gl.constexpr,
          PDL: gl.constexpr):  # fmt: skip
    """Persistent; a tile is BM positions of one row.

    taps: descriptor, limbs of (2 STEPS, 2 BE) a chunk of bins; state (B*chunks, 6 or 2, K) as
    `windows.windows` writes it; table (STEPS.., 2, K): e^{iwn}; ramp (STEPS, 2): cos(dn), sin(dn).
    """
    WP: gl.constexpr = 2 * STEPS
    warps: gl.constexpr = gl.num_warps()
    pairs: gl.constexpr = 16 // (out.dtype.element_ty.primitive_bitwidth // 8) // 2
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, 2 * BE, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    place: gl.constexpr = by_sixteen(BM, BE, warps, pairs)
    rows: gl.constexpr = LIMBS * WP
    box: gl.constexpr = taps.block_type.shape[0]
    buffers = gl.allocate_shared_memory(gl.float16, [CHUNKS, rows, 2 * BE], taps.layout)
    ready = gl.allocate_shared_memory(gl.int64, [CHUNKS, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(CHUNKS):
        mbarrier.init(ready.index(i), count=1)
    if PDL:
        gdc_launch_dependents()
    _copy_taps(taps, buffers, ready, 0, rows, box, BE, CHUNKS)
    s16 = gl.arange(0, BM // 16, layout=gl.SliceLayout(1, gl.SliceLayout(1, place)))
    sbin = gl.arange(0, BE, layout=gl.SliceLayout(0, gl.SliceLayout(1, place)))
    m16 = gl.arange(0, BM // 16, layout=gl.SliceLayout(1, gl.SliceLayout(2, place)))
    m1 = gl.arange(0, 16, layout=gl.SliceLayout(0, gl.SliceLayout(2, place)))
    bins = gl.arange(0, BE, layout=gl.SliceLayout(0, gl.SliceLayout(1, place)))
    m = gl.expand_dims(m16 * 16, 1) + gl.expand_dims(m1, 0)  # row of the tile
    n = m % STEPS
    cos = gl.expand_dims(gl.load(ramp + 2 * n), 2)
    sin = gl.expand_dims(gl.load(ramp + 2 * n + 1), 2)
    cos = 0.5 * cos
    sin = 0.5 * sin
    if PDL:
        gdc_wait()
    for i in gl.static_range(CHUNKS):  # they were on their way while the states were computed
        mbarrier.wait(ready.index(i), 0)
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        b = tile // per_row
        t = (tile - b * per_row) * BM
        frame = _frame(x, b.to(gl.int64) * stride_x, t + offset, length, W, STEPS, SHIFT, BM,
                       operand)  # fmt: skip
        sums = state + (b * chunks + t // STEPS).to(gl.int64) * ((6 if TAIL else 2) * K)
        known = gl.expand_dims(t + s16 * 16 < R, 1) & gl.expand_dims(sbin >= 0, 0)
        to = out + (b.to(gl.int64) * R + t) * E
        for chunk in range(CHUNKS):
            column = chunk * BE
            kept = known
            if not EVEN_K:
                kept = known & gl.expand_dims(column + sbin < K, 0)
            p_re, p_im, more_re, more_im, less_re, less_im = _states(
                sums, s16 * 16 // STEPS, column + sbin, K, TAIL, kept)  # fmt: skip
            e_re, e_im = _turns(table, n, column + bins, K, EVEN_K)
            both = spectrum(frame, buffers.index(chunk), LIMBS, WP, BM, BE, mma)
            z_re = gl.expand_dims(p_re, 1)
            z_im = gl.expand_dims(p_im, 1)
            if TAIL:
                z_re = z_re + cos * gl.expand_dims(more_re + less_re, 1)
                z_im = z_im + cos * gl.expand_dims(more_im + less_im, 1)
                z_re = z_re + sin * gl.expand_dims(more_im - less_im, 1)
                z_im = z_im + sin * gl.expand_dims(less_re - more_re, 1)
            both = warpgroup_mma_wait(0, deps=[both])
            re, im = re_and_im(both, BM, BE)
            re = _ordered(re, BM, BE, pairs, place)
            im = _ordered(im, BM, BE, pairs, place)
            re = re + z_re * e_re  # the phase of the state is that of the chunk's start
            re = re + z_im * e_im
            im = im + z_im * e_re
            im = im - z_re * e_im
            where = to + gl.expand_dims(m * E, 2)
            where = where + gl.expand_dims(gl.expand_dims(column + bins, 0), 1)
            inside = gl.expand_dims(t + m < R, 2)
            inside = inside & gl.expand_dims(gl.expand_dims(column + bins < K, 0), 1)
            if PARTS == "reim":
                _put(where, re, inside, EVEN_M and EVEN_K, CACHE)
                _put(where + K, im, inside, EVEN_M and EVEN_K, CACHE)
            else:
                _put(where, select_parts(re, im, PARTS), inside, EVEN_M and EVEN_K, CACHE)

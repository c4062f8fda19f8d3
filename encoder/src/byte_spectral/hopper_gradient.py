"""The gradient of the taps for sm_90, turned as flash attention is: bins are rows of both products.

S = taps^T frame^T has bins as rows, so what becomes of it, G, is the left operand of dT^T = G frame
in the very registers in which S came: nothing goes through shared memory but the frame, which is
built once a row tile for all bins of a program. "mag", "logmag" and "power", causal, no lengths.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from byte_spectral.hopper import thread_barrier
from byte_spectral.hopper_frame import half


@triton.jit
def pack(taps, packed, BLOCK: tl.constexpr, S: tl.constexpr):
    """taps fp32 (W, 2K) -> fp16 (tiles, limbs, [re | im] 2, be, rows), oldest first.

    Grid (tiles * 2 * be * rows / BLOCK). Of every 16 bins, bin 2l + i is row 8i + l: a thread of
    wgmma has rows l and l + 8, and so two bins that are neighbours in memory.
    """
    WP: tl.constexpr = S.rows
    BE: tl.constexpr = S.be
    LIMBS: tl.constexpr = S.limbs
    if S.early:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = at % WP  # the fastest: what is written lies together
    column = at // WP % BE
    part = at // (BE * WP) % 2  # re or im
    tile = at // (2 * BE * WP)
    k = tile * BE + column
    lag = WP - 1 - row
    here = (lag < S.W) & (k < S.K)
    value = tl.load(taps + lag * (2 * S.K) + part * S.K + k, mask=here, other=0)
    value *= 2.0**S.scale / 255
    m = column // 16 * 16 + column % 2 * 8 + column % 16 // 2
    for limb in tl.static_range(LIMBS):
        cut = value.to(tl.float16)
        tl.store(packed + (((tile * LIMBS + limb) * 2 + part) * BE + m) * WP + row, cut)
        value -= cut.to(tl.float32)


@gluon.constexpr_function
def neighbours(BE, columns, warps):
    """Layout of (BE, columns), bins as in memory: the accumulators of wgmma under other names."""
    registers = [[1, 0], [0, 1]] + [[0, 8 << i] for i in range((columns // 8).bit_length() - 1)]
    lanes = [[0, 2], [0, 4], [2, 0], [4, 0], [8, 0]]
    groups = [[16 << i, 0] for i in range(warps.bit_length() - 1)]
    return gl.DistributedLinearLayout(registers, lanes, groups, [], [BE, columns])


@gluon.jit
def _frame(x, tile, tiles, M, T, stride_x, S: gl.constexpr, build: gl.constexpr):
    """Bytes (bm, rows) as fp16, oldest first; 0 outside the row. regular: a tile is of one row."""
    rows: gl.constexpr = build.size_per_thread[0]
    BN: gl.constexpr = S.bm
    WP: gl.constexpr = S.rows
    SHIFT: gl.constexpr = S.scale
    row = gl.arange(0, BN, layout=gl.SliceLayout(1, build))
    j = gl.arange(0, WP, layout=gl.SliceLayout(0, build))
    if S.regular:
        tile = gl.minimum(tile, tiles - 1)  # past the last one: read again, and not used
        b = tile * BN // T
        newest = tile * BN - b * T
        # threads and registers apart: a thread reads each of its bytes once
        of_thread = gl.expand_dims(row & ~(rows - 1), 1) + gl.expand_dims(j & ~7, 0)
        of_register = gl.expand_dims(row & (rows - 1), 1) + gl.expand_dims(j & 7, 0)
        base = x + (b.to(gl.int64) * stride_x + (newest - (WP - 1))) + of_thread
        if newest >= WP - 1:
            frame = half(gl.load(base + of_register), SHIFT)
        else:
            here = of_register >= WP - 1 - newest - of_thread
            frame = half(gl.load(base + of_register, mask=here, other=0), SHIFT)
            frame = gl.where(here, frame, 0.0).to(gl.float16)
    else:
        m = tile * BN + row
        b = m // T
        at = gl.expand_dims(m - b * T, 1) - (WP - 1) + gl.expand_dims(j, 0)
        here = (at >= 0) & gl.expand_dims(m < M, 1)
        byte = gl.load(x + (gl.expand_dims(b.to(gl.int64) * stride_x, 1) + at), mask=here, other=0)
        frame = gl.where(here, half(byte, SHIFT), 0.0).to(gl.float16)
    return frame


@gluon.jit
def _put_frame(frame, halves, brains, stage):
    """For both products; generic stores, so the tensor cores must be told of them."""
    halves.index(stage).store(frame)
    brains.index(stage).store(frame.to(gl.float32).to(gl.bfloat16))
    fence_async_shared()
    thread_barrier()


@gluon.jit
def _upstream(upstream, tile, M, k0, S: gl.constexpr):
    """(be, bm) of the upstream gradient; past the last tile nothing is read."""
    place: gl.constexpr = neighbours(S.be, S.bm, S.warps)
    k = gl.arange(0, S.be, layout=gl.SliceLayout(1, place))
    row = gl.arange(0, S.bm, layout=gl.SliceLayout(0, place))
    to = upstream + (tile.to(gl.int64) * (S.bm * S.K) + k0) + gl.expand_dims(row * S.K, 0)
    if S.regular:
        inside = gl.expand_dims(k >= 0, 1) & (tile * S.bm < M)
    else:
        inside = gl.expand_dims(k0 + k < S.K, 1) & gl.expand_dims(tile * S.bm + row < M, 0)
    return gl.load(to + gl.expand_dims(k, 1), mask=inside, other=0.0)


@gluon.jit
def _as_rows(g, BE: gl.constexpr, BN: gl.constexpr, mma: gl.constexpr):
    """Bins under the names of the rows of S: registers stay where they are."""
    g = g.reshape([BE // 16, 8, 2, BN]).permute([0, 2, 1, 3]).reshape([BE, BN])
    return gl.convert_layout(g.to(gl.float32), mma)


@gluon.jit
def _as_bins(d, BE: gl.constexpr, WP: gl.constexpr, place: gl.constexpr):
    """The inverse: rows under the names of their bins."""
    d = d.reshape([BE // 16, 2, 8, WP]).permute([0, 2, 1, 3]).reshape([BE, WP])
    return gl.convert_layout(d, place)


@gluon.jit
def _before_select(re, im, g, PARTS: gl.constexpr):
    """The upstream of re and im from that of the selected part."""
    if PARTS == "power":
        f = 2.0 * g
    else:
        power = gl.maximum(re * re + im * im, 1e-37)  # at X = 0 |X| has gradient 0
        turn = gl.inline_asm_elementwise("rsqrt.approx.ftz.f32 $0, $1;", "=f,f", [power],
                                         dtype=gl.float32, is_pure=True, pack=1)  # fmt: skip
        f = g * turn
        if PARTS == "logmag":
            f = f / (power * turn + 1e-3)
    return f * re, f * im


@gluon.jit
def _add_product(d, frame, total, LIMBS: gl.constexpr, operand: gl.constexpr):
    """Start total += d @ frame; d as bf16 limbs, the first cut, not rounded, which is cheaper."""
    high = (d.to(gl.uint32, bitcast=True) & 0xFFFF0000).to(gl.float32, bitcast=True)
    left = gl.convert_layout(high.to(gl.bfloat16), operand)
    total = warpgroup_mma(left, frame, total, is_async=True)
    if LIMBS == 2:
        left = gl.convert_layout((d - high).to(gl.bfloat16), operand)
        total = warpgroup_mma(left, frame, total, is_async=True)
    return total


@gluon.jit
def gradient(x, taps, upstream, partial, M, T, stride_x, S: gl.constexpr):
    """Grid (splits, bins / be), be = 16 x warps; partial (splits, 2, rows, bins) fp32, which
    `backward.total` adds up. Split i takes the row tiles i, i + splits, .. in order.

    taps: descriptor of what `pack` writes, in boxes of (2 be, rows). regular: whole tiles, each of
    a row, and whole tiles of bins. defer: the second product is waited for a round later. ahead:
    the upstream is read a round early.
    """
    BE: gl.constexpr = S.be
    BN: gl.constexpr = S.bm
    WP: gl.constexpr = S.rows
    LIMBS: gl.constexpr = S.limbs
    OUT_LIMBS: gl.constexpr = S.out_limbs
    PARTS: gl.constexpr = S.parts
    per: gl.constexpr = S.bm * S.rows // (256 * S.warps)  # rows of the frame a thread
    mma_s: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [S.warps, 1], [16, S.bm, 16])
    mma_o: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [S.warps, 1], [16, S.rows, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, mma_o, 2)
    build: gl.constexpr = gl.BlockedLayout([per, 8], [256 // S.rows, S.rows // 8], [S.warps, 1],
                                           [1, 0])  # fmt: skip
    put: gl.constexpr = neighbours(S.be, S.rows, S.warps)
    half_smem: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BN, WP], gl.float16)
    brain_smem: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BN, WP], gl.bfloat16)
    buffers = gl.allocate_shared_memory(gl.float16, [LIMBS, 2 * BE, WP], taps.layout)
    halves = gl.allocate_shared_memory(gl.float16, [2, BN, WP], half_smem)
    brains = gl.allocate_shared_memory(gl.bfloat16, [2, BN, WP], brain_smem)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    tile = gl.program_id(0)
    column = gl.program_id(1)
    tiles = (M + BN - 1) // BN
    if S.early:
        gdc_launch_dependents()
        gdc_wait()
    mbarrier.expect(ready, LIMBS * 2 * BE * WP * 2)
    for limb in gl.static_range(LIMBS):
        tma.async_copy_global_to_shared(taps, [(column * LIMBS + limb) * (2 * BE), 0], ready,
                                        buffers.index(limb))  # fmt: skip
    if S.ahead:
        coming = _upstream(upstream, tile, M, column * BE, S)
    frame = _frame(x, tile, tiles, M, T, stride_x, S, build)
    _put_frame(frame, halves, brains, 0)
    mbarrier.wait(ready, 0)
    d_re = warpgroup_mma_init(gl.zeros((BE, WP), gl.float32, mma_o))
    d_im = warpgroup_mma_init(gl.zeros((BE, WP), gl.float32, mma_o))
    stage = tile - tile
    while tile < tiles:
        both = warpgroup_mma_init(gl.zeros((2 * BE, BN), gl.float32, mma_s))
        for limb in gl.static_range(LIMBS):
            both = warpgroup_mma(buffers.index(limb), halves.index(stage).permute([1, 0]), both,
                                 use_acc=limb > 0, is_async=True)  # fmt: skip
        following = tile + gl.num_programs(0)
        if S.ahead:
            given = coming
            coming = _upstream(upstream, following, M, column * BE, S)
        else:
            given = _upstream(upstream, tile, M, column * BE, S)
        frame = _frame(x, following, tiles, M, T, stride_x, S, build)
        if S.defer:
            found, done_re, done_im = warpgroup_mma_wait(0, deps=[both, d_re, d_im])
            d_re = warpgroup_mma_init(done_re)
            d_im = warpgroup_mma_init(done_im)
        else:
            found = warpgroup_mma_wait(0, deps=[both])
        thread_barrier()  # every warp is done with the frame before this one
        _put_frame(frame, halves, brains, stage ^ 1)
        re, im = gl.split(found.reshape([2, BE, BN]).permute([1, 2, 0]))
        re = gl.convert_layout(re, mma_s)
        im = gl.convert_layout(im, mma_s)
        d, e = _before_select(re, im, _as_rows(given, BE, BN, mma_s), PARTS)
        d_re = _add_product(d, brains.index(stage), d_re, OUT_LIMBS, operand)
        d_im = _add_product(e, brains.index(stage), d_im, OUT_LIMBS, operand)
        if not S.defer:
            done_re, done_im = warpgroup_mma_wait(0, deps=[d_re, d_im])
            d_re = warpgroup_mma_init(done_re)
            d_im = warpgroup_mma_init(done_im)
        tile = following
        stage = stage ^ 1
    sum_re, sum_im = warpgroup_mma_wait(0, deps=[d_re, d_im])
    k = column * BE + gl.arange(0, BE, layout=gl.SliceLayout(1, put))
    j = gl.arange(0, WP, layout=gl.SliceLayout(0, put))
    to = partial + gl.program_id(0).to(gl.int64) * (2 * WP * S.bins)
    to = to + (gl.expand_dims(j * S.bins, 0) + gl.expand_dims(k, 1))
    gl.store(to, _as_bins(sum_re, BE, WP, put))
    gl.store(to + WP * S.bins, _as_bins(sum_im, BE, WP, put))

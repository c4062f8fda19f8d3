"""The gradient of taps for sm_90, turned as flash attention is: bins are rows of both products.

X = taps^T frame^T has bins as rows, so what becomes of it is the left operand of the second product
in the very registers in which X came. Through shared memory goes the frame alone, in two buffers:
while a tile is worked on, the following one is built. `fallback.taps_gradient` is the naive form.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)

from byte_spectral.hopper import copy_taps, frame_of, mbarriers, thread_barrier


@gluon.jit
def _put_frame(frame, halves, brains):
    """For both products. The tensor cores must be told of stores that are not theirs."""
    halves.store(frame)
    brains.store(frame.to(gl.float32).to(gl.bfloat16))
    fence_async_shared()
    thread_barrier()


@gluon.jit
def _before_select(re, im, g, S: gl.constexpr):
    """The upstream of re and im from that of the selected part."""
    if S.parts == "power":
        g *= 2.0
    else:
        power = gl.maximum(re * re + im * im, 1e-37)  # at X = 0 |X| has gradient 0
        turn = gl.inline_asm_elementwise(
            "rsqrt.approx.ftz.f32 $0, $1;", "=f,f", [power], dtype=gl.float32, is_pure=True, pack=1
        )
        if S.parts == "logmag":
            g /= power * turn + 1e-3
        g *= turn
    return g * re, g * im


@gluon.jit
def _add_product(g, frame, total, operand: gl.constexpr):
    """Start total += g @ frame; g as two bf16 limbs: the first is cut, not rounded."""
    high = (g.to(gl.uint32, bitcast=True) & 0xFFFF0000).to(gl.float32, bitcast=True)
    left = gl.convert_layout(high.to(gl.bfloat16), operand)
    total = warpgroup_mma(left, frame, total, is_async=True)
    left = gl.convert_layout((g - high).to(gl.bfloat16), operand)
    return warpgroup_mma(left, frame, total, is_async=True)


@gluon.jit(do_not_specialize=["T"])  # rows of one byte: see `hopper_linear.project`
def gradient(x, taps, upstream, partial, lengths, M, T, stride_x, S: gl.constexpr):
    """Grid (splits, tiles of bins), be = 16 x warps; partial (splits, W, 2K), newest byte first.

    Split i takes the row tiles i, i + splits, .. in order, so that the result is the same every
    time. taps: descriptor of fp16 (tiles*limbs*rows, 2 be), [re | im], oldest first. Re and im are
    computed again rather than read. What becomes of them goes to the tensor cores as two bf16
    limbs; bytes are exact in bf16.
    """
    BE: gl.constexpr = S.be
    BM: gl.constexpr = S.bm
    ROWS: gl.constexpr = S.rows
    LIMBS: gl.constexpr = S.limbs
    spectra: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [S.warps, 1], [16, S.bm, 16])
    sums: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [S.warps, 1], [16, S.rows, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, sums, 2)
    # a thread has neighbouring rows, whose bytes are the same but for one
    per: gl.constexpr = S.bm * S.rows // (256 * S.warps)
    build: gl.constexpr = gl.BlockedLayout([per, 8], [256 // S.rows, S.rows // 8], [S.warps, 1],
                                           [1, 0])  # fmt: skip
    buffers = gl.allocate_shared_memory(gl.float16, [1, LIMBS * ROWS, 2 * BE], taps.layout)
    halves = gl.allocate_shared_memory(
        gl.float16, [2, BM, ROWS], gl.NVMMASharedLayout.get_default_for([BM, ROWS], gl.float16)
    )
    brains = gl.allocate_shared_memory(
        gl.bfloat16, [2, BM, ROWS], gl.NVMMASharedLayout.get_default_for([BM, ROWS], gl.bfloat16)
    )
    ready = mbarriers(1)
    tile = gl.program_id(0)
    tiles = (M + BM - 1) // BM
    copy_taps(taps, buffers, ready, gl.program_id(1), 0, S)
    frame = frame_of(x, lengths, tile, M, T, stride_x, 0, S, build, per - 1, 7)
    _put_frame(frame, halves.index(0), brains.index(0))
    mbarrier.wait(ready[0], 0)
    k = gl.program_id(1) * BE + gl.arange(0, BE, layout=gl.SliceLayout(1, spectra))
    row = gl.arange(0, BM, layout=gl.SliceLayout(0, spectra))
    at = gl.expand_dims(row * S.K, 0) + gl.expand_dims(k, 1)
    d_re = gl.zeros((BE, ROWS), gl.float32, sums)
    d_im = gl.zeros((BE, ROWS), gl.float32, sums)
    stage = tile - tile
    while tile < tiles:
        both = warpgroup_mma_init(gl.zeros((2 * BE, BM), gl.float32, spectra))
        for limb in gl.static_range(LIMBS):
            left = buffers.index(0).slice(limb * ROWS, ROWS).permute((1, 0))
            both = warpgroup_mma(left, halves.index(stage).permute((1, 0)), both,
                                 use_acc=limb > 0, is_async=True)  # fmt: skip
        to = upstream + tile.to(gl.int64) * (BM * S.K) + at
        if S.even and S.even_rows:
            g = gl.load(to).to(gl.float32)
        else:
            here = gl.expand_dims(k < S.K, 1) & gl.expand_dims(tile * BM + row < M, 0)
            g = gl.load(to, mask=here, other=0).to(gl.float32)
        tile += gl.num_programs(0)
        if tile < tiles:
            frame = frame_of(x, lengths, tile, M, T, stride_x, 0, S, build,
                             per - 1, 7)  # fmt: skip
        found = warpgroup_mma_wait(0, deps=[both])
        re, im = gl.split(found.reshape([2, BE, BM]).permute([1, 2, 0]))
        d, e = _before_select(gl.convert_layout(re, spectra), gl.convert_layout(im, spectra), g,
                              S)  # fmt: skip
        d_re = _add_product(d, brains.index(stage), warpgroup_mma_init(d_re), operand)
        d_im = _add_product(e, brains.index(stage), warpgroup_mma_init(d_im), operand)
        _put_frame(frame, halves.index(stage ^ 1), brains.index(stage ^ 1))
        d_re, d_im = warpgroup_mma_wait(0, deps=[d_re, d_im])
        stage = stage ^ 1
    k = gl.program_id(1) * BE + gl.arange(0, BE, layout=gl.SliceLayout(1, sums))
    lag = ROWS - 1 - gl.arange(0, ROWS, layout=gl.SliceLayout(0, sums))
    to = partial + gl.program_id(0).to(gl.int64) * (2 * S.W * S.K)
    to = to + (gl.expand_dims(lag * (2 * S.K), 0) + gl.expand_dims(k, 1))
    here = gl.expand_dims(lag < S.W, 0) & gl.expand_dims(k < S.K, 1)
    SCALE: gl.constexpr = 2.0**S.scale / 255
    gl.store(to, d_re * SCALE, mask=here)
    gl.store(to + S.K, d_im * SCALE, mask=here)

"""The encoder and a linear layer in one kernel for sm_90: features never leave registers."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from byte_spectral.hopper import (
    UNROLLED,
    all_come,
    mbarriers,
    put,
    re_and_im,
    select_parts,
    spectrum,
    store_layout,
)
from byte_spectral.hopper_frame import frame_of


@gluon.jit
def _multiply(both, weights, acc, PARTS: gl.constexpr, BM: gl.constexpr, BE: gl.constexpr,
              second: gl.constexpr):  # fmt: skip
    """Start acc += parts(re, im) @ weights^T: accumulators are the left operand as they stand."""
    re, im = re_and_im(both, BM, BE)
    value = gl.convert_layout(select_parts(re, im, PARTS).to(weights.dtype), second)
    return warpgroup_mma(value, weights.permute((1, 0)), acc, is_async=True)


@gluon.jit
def _emit(total, bias, out, tile, column, M, D, HAS_BIAS: gl.constexpr, EVEN_M: gl.constexpr,
          EVEN_K: gl.constexpr, BM: gl.constexpr, BD: gl.constexpr, ORDERED: gl.constexpr,
          wide: gl.constexpr, place: gl.constexpr, CACHE: gl.constexpr):  # fmt: skip
    if HAS_BIAS:
        d = gl.arange(0, BD, layout=gl.SliceLayout(0, wide))
        if ORDERED:
            d = d // 32 * 32 + d % 8 // 2 * 8 + d % 32 // 8 * 2 + d % 2
        d += column
        total += gl.expand_dims(gl.load(bias + d, mask=d < D, other=0).to(gl.float32), 0)
    put(total, out, tile, column, M, D, D, BM, BD, EVEN_M, EVEN_K, ORDERED, place, CACHE)


@gluon.jit
def _two(this, frame, buffers, weights, ready, acc, chunk, WAIT: gl.constexpr,
         LIMBS: gl.constexpr, WP: gl.constexpr, PARTS: gl.constexpr, BM: gl.constexpr,
         BE: gl.constexpr, mma: gl.constexpr, second: gl.constexpr):  # fmt: skip
    """Start the spectrum of chunk + 1 and the product of chunk; wait for the former."""
    if WAIT:
        mbarrier.wait(ready[chunk + 1], 0)
    both = spectrum(frame, buffers.index(chunk + 1), LIMBS, WP, BM, BE, mma)
    acc = _multiply(this, weights.index(chunk), acc, PARTS, BM, BE, second)
    return warpgroup_mma_wait(1, deps=[both]), acc


@gluon.jit
def _rows(both, frame, buffers, weights, ready, bias, x, lengths, out, tile, following, column, M,
          T, stride_x, history, shift, D, W: gl.constexpr, SHIFT: gl.constexpr,
          HAS_LENGTHS: gl.constexpr, REGULAR: gl.constexpr, WAIT: gl.constexpr,
          LIMBS: gl.constexpr, WP: gl.constexpr, PARTS: gl.constexpr, HAS_BIAS: gl.constexpr,
          EVEN_M: gl.constexpr, EVEN_K: gl.constexpr, BM: gl.constexpr, BE: gl.constexpr,
          BD: gl.constexpr, CHUNKS: gl.constexpr, ORDERED: gl.constexpr, CACHE: gl.constexpr,
          mma: gl.constexpr, wide: gl.constexpr, place: gl.constexpr,
          operand: gl.constexpr):  # fmt: skip
    """One row tile whose first spectrum is under way; starts that of the following tile, so that
    the tensor cores have work while its bytes come and while this tile is stored."""
    second: gl.constexpr = gl.DotOperandLayout(0, wide, 2)
    acc = warpgroup_mma_init(gl.zeros((BM, BD), gl.float32, wide))
    this = warpgroup_mma_wait(0, deps=[both])
    if WAIT and CHUNKS <= UNROLLED:
        for chunk in gl.static_range(CHUNKS - 1):
            this, acc = _two(this, frame, buffers, weights, ready, acc, chunk, WAIT, LIMBS, WP,
                             PARTS, BM, BE, mma, second)  # fmt: skip
    else:
        if WAIT:
            all_come(ready, CHUNKS)
        for pair in range((CHUNKS - 1) // 2):
            other, acc = _two(this, frame, buffers, weights, ready, acc, pair * 2, False, LIMBS,
                              WP, PARTS, BM, BE, mma, second)  # fmt: skip
            this, acc = _two(other, frame, buffers, weights, ready, acc, pair * 2 + 1, False,
                             LIMBS, WP, PARTS, BM, BE, mma, second)  # fmt: skip
        if CHUNKS % 2 == 0:
            this, acc = _two(this, frame, buffers, weights, ready, acc, CHUNKS - 2, False, LIMBS,
                             WP, PARTS, BM, BE, mma, second)  # fmt: skip
    acc = _multiply(this, weights.index(CHUNKS - 1), acc, PARTS, BM, BE, second)
    if following < (M + BM - 1) // BM:  # after the last tile nobody reads the spectrum
        frame = frame_of(x, lengths, following, M, T, stride_x, history, shift, W, WP, SHIFT, BM,
                         HAS_LENGTHS, REGULAR, operand)  # fmt: skip
    both = spectrum(frame, buffers.index(0), LIMBS, WP, BM, BE, mma)
    _emit(warpgroup_mma_wait(1, deps=[acc]), bias, out, tile, column, M, D, HAS_BIAS, EVEN_M,
          EVEN_K, BM, BD, ORDERED, wide, place, CACHE)  # fmt: skip
    return both, frame


@gluon.jit
def project(x, taps, weight, bias, out, lengths, M, T, stride_x, history, shift, D,
            W: gl.constexpr, WP: gl.constexpr, SHIFT: gl.constexpr, LIMBS: gl.constexpr,
            PARTS: gl.constexpr, HAS_LENGTHS: gl.constexpr, HAS_BIAS: gl.constexpr,
            EVEN_M: gl.constexpr, EVEN_K: gl.constexpr, BM: gl.constexpr, BE: gl.constexpr,
            BD: gl.constexpr, CHUNKS: gl.constexpr, SPLIT: gl.constexpr, ORDERED: gl.constexpr,
            REGULAR: gl.constexpr, CACHE: gl.constexpr, PDL: gl.constexpr):  # fmt: skip
    """features @ weight^T + bias, features staying in registers: out (M, D).

    weight: descriptor of (D, E) in out's type, in boxes of (BD, BE); where ORDERED, of
    (D/32, 4, 4, 2, E), rows in the order in which a thread's accumulators are 16 bytes of output:
    row 8h + 2q + l of 32 is column 8q + 2h + l of the output. Taps are not permuted here: the
    accumulators of the first product are the left operand of the second as they stand.
    """
    warps: gl.constexpr = gl.num_warps()
    pairs: gl.constexpr = 16 // (out.dtype.element_ty.primitive_bitwidth // 8) // 2
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, 2 * BE, 16])
    wide: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, BD, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    place: gl.constexpr = store_layout(BM, BD, warps, pairs)
    flat: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BD, BE], weight.dtype)
    rows: gl.constexpr = LIMBS * WP
    box: gl.constexpr = taps.block_type.shape[0]
    buffers = gl.allocate_shared_memory(gl.float16, [CHUNKS, rows, 2 * BE], taps.layout)
    weights = gl.allocate_shared_memory(weight.dtype, [CHUNKS, BD, BE], flat)
    ready = mbarriers(CHUNKS)
    column = gl.program_id(0) % SPLIT * BD
    tile = gl.program_id(0) // SPLIT
    step = gl.num_programs(0) // SPLIT
    tiles = (M + BM - 1) // BM
    if PDL:
        gdc_launch_dependents()
    for chunk in gl.static_range(CHUNKS):
        mbarrier.expect(ready[chunk], (2 * rows + BD) * BE * 2)
    for chunk in gl.static_range(CHUNKS):
        for part in gl.static_range(rows // box):
            tma.async_copy_global_to_shared(
                taps, [chunk * rows + part * box, 0], ready[chunk],
                buffers.index(chunk).slice(part * box, box),
            )  # fmt: skip
    if PDL:
        gdc_wait()  # bytes and weights may be the last kernel's work, taps were there before
    for chunk in gl.static_range(CHUNKS):
        if ORDERED:
            to = weights.index(chunk)._reinterpret(weight.dtype, weight.block_type.shape,
                                                   weight.layout)  # fmt: skip
            tma.async_copy_global_to_shared(weight, [column // 32, 0, 0, 0, chunk * BE],
                                            ready[chunk], to)  # fmt: skip
        else:
            tma.async_copy_global_to_shared(weight, [column, chunk * BE], ready[chunk],
                                            weights.index(chunk))  # fmt: skip
    frame = frame_of(x, lengths, tile, M, T, stride_x, history, shift, W, WP, SHIFT, BM,
                   HAS_LENGTHS, REGULAR, operand)  # fmt: skip
    mbarrier.wait(ready[0], 0)
    both = spectrum(frame, buffers.index(0), LIMBS, WP, BM, BE, mma)
    both, frame = _rows(
        both, frame, buffers, weights, ready, bias, x, lengths, out, tile, tile + step, column, M,
        T, stride_x, history, shift, D, W, SHIFT, HAS_LENGTHS, REGULAR, True, LIMBS, WP, PARTS,
        HAS_BIAS, EVEN_M, EVEN_K, BM, BE, BD, CHUNKS, ORDERED, CACHE, mma, wide, place,
        operand)  # fmt: skip
    tile += step
    while tile < tiles:
        both, frame = _rows(
            both, frame, buffers, weights, ready, bias, x, lengths, out, tile, tile + step, column,
            M, T, stride_x, history, shift, D, W, SHIFT, HAS_LENGTHS, REGULAR, False, LIMBS, WP,
            PARTS, HAS_BIAS, EVEN_M, EVEN_K, BM, BE, BD, CHUNKS, ORDERED, CACHE, mma, wide, place,
            operand)  # fmt: skip
        tile += step
    warpgroup_mma_wait(0, deps=[both])

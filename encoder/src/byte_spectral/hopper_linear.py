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
    copy_taps,
    frame_of,
    mbarriers,
    placed,
    product_layout,
    put,
    re_and_im,
    select_parts,
    spectrum,
    store_layout,
    thread_barrier,
)

LATER = gl.constexpr("{ .reg .pred p; .reg .u32 t; mov.u32 t, %tid.x; setp.ge.u32 p, t, 128; "
                     "@p nanosleep.u32 2000; mov.b32 $0, $1; }")  # fmt: skip


@gluon.constexpr_function
def wide_layout(S):
    """Of (bm, bd), as wgmma leaves it."""
    return gl.NVMMADistributedLayout([3, 0], [S.warps, 1], [16, S.bd, 16])


@gluon.jit
def _multiply(both, weights, acc, S: gl.constexpr):
    """Start acc += parts(re, im) @ weights^T: accumulators are the left operand as they stand."""
    second: gl.constexpr = gl.DotOperandLayout(0, wide_layout(S), 2)
    re, im = re_and_im(both, S)
    value = gl.convert_layout(select_parts(re, im, S).to(weights.dtype), second)
    return warpgroup_mma(value, weights.permute((1, 0)), acc, is_async=True)


@gluon.jit
def _table_rows(table, x, tile, column, M, T, stride_x, history, BITS: gl.constexpr,
                S: gl.constexpr):  # fmt: skip
    """The rows of the table of each position's byte, where the output is `placed`."""
    place: gl.constexpr = store_layout(S, S.bd, BITS)
    m = tile * S.bm + gl.arange(0, S.bm, layout=gl.SliceLayout(1, place))
    d = column + gl.arange(0, S.bd, layout=gl.SliceLayout(0, place))
    b = m // T
    byte = gl.load(x + (b.to(gl.int64) * stride_x + history + (m - b * T)), mask=m < M, other=0)
    at = gl.expand_dims(byte.to(gl.int32) * S.width, 1) + gl.expand_dims(d, 0)
    here = gl.expand_dims(m < M, 1) & gl.expand_dims(d < S.width, 0)
    return gl.load(table + at, mask=here, other=0).to(gl.float32)


@gluon.jit
def _emit(total, bias, table, x, out, tile, column, M, T, stride_x, history, S: gl.constexpr):
    kind: gl.constexpr = out.dtype.element_ty
    BITS: gl.constexpr = kind.primitive_bitwidth
    total = placed(total, S.ordered, S.bd, BITS, S)
    if S.bias:
        d = column + gl.arange(0, S.bd, layout=gl.SliceLayout(0, store_layout(S, S.bd, BITS)))
        added = gl.load(bias + d, mask=d < S.width, other=0)
        total += gl.expand_dims(added.to(gl.float32), 0)
    if S.table:
        rows = _table_rows(table, x, tile, column, M, T, stride_x, history, BITS, S)
        total = rows / (1.0 + gl.exp(-total)) if S.gated else rows + total
    put(total.to(kind), out, tile, column, M, S.width, S.width, S.bd, S)


@gluon.jit
def _two(this, frame, buffers, weights, ready, acc, chunk, WAIT: gl.constexpr, S: gl.constexpr):
    """Start the spectrum of chunk + 1 and the product of chunk; wait for the former."""
    if WAIT:
        mbarrier.wait(ready[chunk + 1], 0)
    both = spectrum(frame, buffers.index(chunk + 1), S)
    acc = _multiply(this, weights.index(chunk), acc, S)
    return warpgroup_mma_wait(1, deps=[both]), acc


@gluon.jit
def _rows(both, frame, buffers, weights, ready, bias, table, x, lengths, out, tile, following,
          column, M, T, stride_x, history, WAIT: gl.constexpr, S: gl.constexpr):  # fmt: skip
    """One row tile whose first spectrum is under way; starts that of the following tile, so that
    the tensor cores have work while its bytes come and while this tile is stored."""
    CHUNKS: gl.constexpr = S.chunks
    ROWS: gl.constexpr = S.bm
    COLUMNS: gl.constexpr = S.bd
    operand: gl.constexpr = gl.DotOperandLayout(0, product_layout(S), 2)
    acc = warpgroup_mma_init(gl.zeros((ROWS, COLUMNS), gl.float32, wide_layout(S)))
    this = warpgroup_mma_wait(0, deps=[both])
    if WAIT and CHUNKS <= UNROLLED:
        for chunk in gl.static_range(CHUNKS - 1):
            this, acc = _two(this, frame, buffers, weights, ready, acc, chunk, WAIT, S)
    else:
        if WAIT:
            all_come(ready, CHUNKS)
        for pair in range((CHUNKS - 1) // 2):
            other, acc = _two(this, frame, buffers, weights, ready, acc, pair * 2, False, S)
            this, acc = _two(other, frame, buffers, weights, ready, acc, pair * 2 + 1, False, S)
        if CHUNKS % 2 == 0:
            this, acc = _two(this, frame, buffers, weights, ready, acc, CHUNKS - 2, False, S)
    acc = _multiply(this, weights.index(CHUNKS - 1), acc, S)
    if following < (M + S.bm - 1) // S.bm:  # after the last tile nobody reads the spectrum
        frame = frame_of(x, lengths, following, M, T, stride_x, history, S, operand)
    both = spectrum(frame, buffers.index(0), S)
    acc = warpgroup_mma_wait(1, deps=[acc])
    _emit(acc, bias, table, x, out, tile, column, M, T, stride_x, history, S)
    return both, frame


@gluon.jit
def _copy_weights(weight, weights, ready, column, S: gl.constexpr):
    CHUNKS: gl.constexpr = S.chunks
    for chunk in gl.static_range(CHUNKS):
        if S.ordered:
            to = weights.index(chunk)._reinterpret(weight.dtype, weight.block_type.shape,
                                                   weight.layout)  # fmt: skip
            tma.async_copy_global_to_shared(weight, [column // 32, 0, 0, 0, chunk * S.be],
                                            ready[chunk], to)  # fmt: skip
        else:
            tma.async_copy_global_to_shared(weight, [column, chunk * S.be], ready[chunk],
                                            weights.index(chunk))  # fmt: skip


# rows of one byte: with T as a constant 1 Triton 3.6 cannot translate the frames
@gluon.jit(do_not_specialize=["T"])
def project(x, taps, weight, bias, table, out, lengths, M, T, stride_x, history,
            S: gl.constexpr):  # fmt: skip
    """features @ weight^T + bias, features staying in registers: out (M, width).

    table (256, width) has a row for each byte: that of the position's own is added, or, gated,
    multiplied by the sigmoid of the rest.

    weight: descriptor of (width, E) in out's type, in boxes of (bd, be); where ordered, of
    (width/32, 4, 4, 2, E), rows in the order in which a thread's accumulators are 16 bytes of
    output: row 8h + 2q + l of 32 is column 8q + 2h + l of the output. Taps are not permuted here:
    the accumulators of the first product are the left operand of the second as they stand.
    """
    CHUNKS: gl.constexpr = S.chunks
    operand: gl.constexpr = gl.DotOperandLayout(0, product_layout(S), 2)
    flat: gl.constexpr = gl.NVMMASharedLayout.get_default_for([S.bd, S.be], weight.dtype)
    buffers = gl.allocate_shared_memory(gl.float16, [CHUNKS, S.limbs * S.rows, 2 * S.be],
                                        taps.layout)  # fmt: skip
    weights = gl.allocate_shared_memory(weight.dtype, [CHUNKS, S.bd, S.be], flat)
    ready = mbarriers(CHUNKS)
    column = gl.program_id(0) % S.split * S.bd
    tile = gl.program_id(0) // S.split
    step = gl.num_programs(0) // S.split
    tiles = (M + S.bm - 1) // S.bm
    if S.early:
        gdc_launch_dependents()
    copy_taps(taps, buffers, ready, 0, S.bd * S.be * 2, S)
    if S.early:
        gdc_wait()  # bytes and weights may be the last kernel's work, taps were there before
    _copy_weights(weight, weights, ready, column, S)
    frame = frame_of(x, lengths, tile, M, T, stride_x, history, S, operand)
    mbarrier.wait(ready[0], 0)
    thread_barrier()  # the last one: then one warpgroup stores while the other multiplies
    if S.ordered & (tile + step < tiles):  # the second waits 2 us
        gl.inline_asm_elementwise(LATER, "=r,r", [tile], dtype=gl.int32, is_pure=False, pack=1)
    both = spectrum(frame, buffers.index(0), S)
    both, frame = _rows(both, frame, buffers, weights, ready, bias, table, x, lengths, out, tile,
                        tile + step, column, M, T, stride_x, history, True, S)  # fmt: skip
    tile += step
    while tile < tiles:
        both, frame = _rows(both, frame, buffers, weights, ready, bias, table, x, lengths, out,
                            tile, tile + step, column, M, T, stride_x, history, False,
                            S)  # fmt: skip
        tile += step
    warpgroup_mma_wait(0, deps=[both])

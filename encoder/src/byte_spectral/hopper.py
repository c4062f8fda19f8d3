"""The encoder for sm_90: taps resident in shared memory, accumulators stored as they are.

One program an SM keeps its taps on chip and walks over row tiles. The frame of bytes is built in
registers as the left operand of wgmma, straight from global memory. Columns of the taps are
permuted so that a thread's accumulators are 16 contiguous bytes of output: no exchange through
shared memory and, after the first tile, no barrier stands between bytes and stores.

Triton puts a barrier wherever it sees a hazard in shared memory; it takes the copies of the taps to
be under way for ever, and each mbarrier of an allocation for any other. Hence one barrier by hand
after the first tile, and an allocation for each mbarrier.
"""

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

from byte_spectral.hopper_frame import frame_of

# renamed in Triton 3.7
thread_barrier = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier
UNROLLED = gl.constexpr(8)  # more chunks than these are all awaited before the first is used


@gluon.jit
def spectrum(frame, taps, LIMBS: gl.constexpr, WP: gl.constexpr, BM: gl.constexpr,
             BE: gl.constexpr, mma: gl.constexpr):  # fmt: skip
    """Start [re | im] (BM, 2 BE) of one chunk of bins; taps: its limbs in shared memory."""
    both = warpgroup_mma_init(gl.zeros((BM, 2 * BE), gl.float32, mma))
    for limb in gl.static_range(LIMBS):
        both = warpgroup_mma(frame, taps.slice(limb * WP, WP), both, use_acc=limb > 0,
                             is_async=True)  # fmt: skip
    return both


@gluon.jit
def re_and_im(both, BM: gl.constexpr, BE: gl.constexpr):
    """The two halves of the columns; they are different registers of each thread."""
    return gl.split(both.reshape([BM, 2, BE]).permute([0, 2, 1]))


@gluon.jit
def select_parts(re, im, PARTS: gl.constexpr):
    power = re * re + im * im
    if PARTS == "power":
        return power
    size = gl.inline_asm_elementwise(
        "sqrt.approx.ftz.f32 $0, $1;", "=f,f", [power], dtype=gl.float32, is_pure=True, pack=1
    )
    if PARTS == "logmag":
        size = 0.6931471805599453 * gl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [size + 1e-3], dtype=gl.float32, is_pure=True,
            pack=1,
        )  # fmt: skip
    return size


@gluon.constexpr_function
def store_layout(BM, BE, warps, pairs):
    """The accumulators' layout with its columns renamed: 16 bytes of a row a thread."""
    registers = [[0, 1]] + [[0, 2 << i] for i in range(pairs.bit_length() - 1)] + [[8, 0]]
    width = 8 * pairs
    while width < BE:
        registers.append([0, width])
        width *= 2
    lanes = [[0, 2 * pairs], [0, 4 * pairs], [1, 0], [2, 0], [4, 0]]
    rows = [[16 << i, 0] for i in range(warps.bit_length() - 1)]
    return gl.DistributedLinearLayout(registers, lanes, rows, [], [BM, BE])


@gluon.jit
def put(value, out, tile, column, M, K, E, BM: gl.constexpr, BE: gl.constexpr,
         EVEN_M: gl.constexpr, EVEN_K: gl.constexpr, PERMUTED: gl.constexpr,
         place: gl.constexpr, CACHE: gl.constexpr):  # fmt: skip
    value = value.to(out.dtype.element_ty)
    if PERMUTED:  # a change of names: registers stay where they are
        PAIRS: gl.constexpr = 16 // (out.dtype.element_ty.primitive_bitwidth // 8) // 2
        split = value.reshape([BM, BE // (8 * PAIRS), PAIRS, 4, 2])
        value = split.permute([0, 1, 3, 2, 4]).reshape([BM, BE])
    flat = gl.convert_layout(value, place)
    m = tile * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, place))
    e = column + gl.arange(0, BE, layout=gl.SliceLayout(0, place))
    to = out + (gl.expand_dims(m.to(gl.int64) * E, 1) + gl.expand_dims(e, 0))
    if EVEN_M and EVEN_K:
        gl.store(to, flat, cache_modifier=CACHE)
    elif EVEN_K:
        here = gl.expand_dims(m < M, 1) & gl.expand_dims(e >= 0, 0)
        gl.store(to, flat, mask=here, cache_modifier=CACHE)
    else:
        here = gl.expand_dims(m < M, 1) & gl.expand_dims(e < K, 0)
        gl.store(to, flat, mask=here, cache_modifier=CACHE)


@gluon.jit
def _emit(both, out, tile, chunk, M, K, E, scale, PARTS: gl.constexpr, BM: gl.constexpr,
          BE: gl.constexpr, EVEN_M: gl.constexpr, EVEN_K: gl.constexpr, place: gl.constexpr,
          CACHE: gl.constexpr):  # fmt: skip
    re, im = re_and_im(both, BM, BE)
    if PARTS == "reim":
        put(re * scale, out, tile, chunk * BE, M, K, E, BM, BE, EVEN_M, EVEN_K, True, place, CACHE)
        put(im * scale, out + K, tile, chunk * BE, M, K, E, BM, BE, EVEN_M, EVEN_K, True, place,
            CACHE)  # fmt: skip
    else:
        value = select_parts(re, im, PARTS)
        put(value, out, tile, chunk * BE, M, K, E, BM, BE, EVEN_M, EVEN_K, True, place, CACHE)


@gluon.jit
def _chunk(frame, buffers, out, tile, first, chunk, M, K, E, scale, LIMBS: gl.constexpr,
           WP: gl.constexpr, PARTS: gl.constexpr, EVEN_M: gl.constexpr, EVEN_K: gl.constexpr,
           BM: gl.constexpr, BE: gl.constexpr, CACHE: gl.constexpr, mma: gl.constexpr,
           place: gl.constexpr):  # fmt: skip
    """One chunk of bins of a row tile."""
    both = spectrum(frame, buffers.index(chunk), LIMBS, WP, BM, BE, mma)
    this = warpgroup_mma_wait(0, deps=[both])
    _emit(this, out, tile, first + chunk, M, K, E, scale, PARTS, BM, BE, EVEN_M, EVEN_K, place,
          CACHE)  # fmt: skip


@gluon.jit
def _rows(frame, buffers, ready, out, tile, first, M, K, E, scale, WAIT: gl.constexpr,
          LIMBS: gl.constexpr, WP: gl.constexpr, PARTS: gl.constexpr, EVEN_M: gl.constexpr,
          EVEN_K: gl.constexpr, BM: gl.constexpr, BE: gl.constexpr, CHUNKS: gl.constexpr,
          CACHE: gl.constexpr, mma: gl.constexpr, place: gl.constexpr):  # fmt: skip
    """One row tile; WAIT: the first, whose taps are still coming."""
    if WAIT and CHUNKS <= UNROLLED:
        for chunk in gl.static_range(CHUNKS):
            mbarrier.wait(ready[chunk], 0)
            _chunk(frame, buffers, out, tile, first, chunk, M, K, E, scale, LIMBS, WP, PARTS,
                   EVEN_M, EVEN_K, BM, BE, CACHE, mma, place)  # fmt: skip
    else:
        if WAIT:
            all_come(ready, CHUNKS)
        for chunk in range(CHUNKS):
            _chunk(frame, buffers, out, tile, first, chunk, M, K, E, scale, LIMBS, WP, PARTS,
                   EVEN_M, EVEN_K, BM, BE, CACHE, mma, place)  # fmt: skip


@gluon.jit
def mbarriers(COUNT: gl.constexpr):
    """COUNT of them, each awaiting one arrival."""
    made = ()
    for _ in gl.static_range(COUNT):
        made += (gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout()),)
    for i in gl.static_range(COUNT):
        mbarrier.init(made[i], count=1)
    return made


@gluon.jit
def all_come(ready, COUNT: gl.constexpr):
    for i in gl.static_range(COUNT):
        mbarrier.wait(ready[i], 0)


@gluon.jit
def _copy_taps(taps, buffers, ready, first, ROWS: gl.constexpr, BOX: gl.constexpr,
               BE: gl.constexpr, CHUNKS: gl.constexpr):  # fmt: skip
    """Begin to copy this program's taps, one mbarrier a chunk."""
    for chunk in gl.static_range(CHUNKS):
        mbarrier.expect(ready[chunk], ROWS * BE * 4)
    for chunk in gl.static_range(CHUNKS):
        for part in gl.static_range(ROWS // BOX):
            tma.async_copy_global_to_shared(
                taps, [(first + chunk) * ROWS + part * BOX, 0], ready[chunk],
                buffers.index(chunk).slice(part * BOX, BOX),
            )  # fmt: skip


@gluon.jit
def encode(x, taps, out, lengths, M, T, stride_x, history, shift, K, E, scale,
           W: gl.constexpr, WP: gl.constexpr, SHIFT: gl.constexpr, LIMBS: gl.constexpr,
           PARTS: gl.constexpr, HAS_LENGTHS: gl.constexpr, EVEN_M: gl.constexpr,
           EVEN_K: gl.constexpr, BM: gl.constexpr, BE: gl.constexpr, CHUNKS: gl.constexpr,
           SPLIT: gl.constexpr, REGULAR: gl.constexpr, CACHE: gl.constexpr,
           PDL: gl.constexpr):  # fmt: skip
    """Grid: SPLIT x as many as fit; a program owns CHUNKS chunks of BE bins.

    x: uint8, row b at x + b*stride_x, `history` bytes of which precede the T encoded ones.
    taps: descriptor of fp16 (chunks*LIMBS*WP, 2*BE), [re | im], oldest first; see `pack.arrange`.
    out: (M, E) contiguous, M = B*T. scale: of re and im, see `pack.headroom`.
    """
    warps: gl.constexpr = gl.num_warps()
    pairs: gl.constexpr = 16 // (out.dtype.element_ty.primitive_bitwidth // 8) // 2
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, 2 * BE, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    place: gl.constexpr = store_layout(BM, BE, warps, pairs)
    rows: gl.constexpr = LIMBS * WP
    box: gl.constexpr = taps.block_type.shape[0]
    buffers = gl.allocate_shared_memory(gl.float16, [CHUNKS, rows, 2 * BE], taps.layout)
    ready = mbarriers(CHUNKS)
    first = gl.program_id(0) % SPLIT * CHUNKS
    tile = gl.program_id(0) // SPLIT
    step = gl.num_programs(0) // SPLIT
    tiles = (M + BM - 1) // BM
    if PDL:
        gdc_launch_dependents()
    _copy_taps(taps, buffers, ready, first, rows, box, BE, CHUNKS)
    if PDL:  # taps were there long before; only the bytes may be the last kernel's work
        gdc_wait()
    frame = frame_of(x, lengths, tile, M, T, stride_x, history, shift, W, WP, SHIFT, BM,
                   HAS_LENGTHS, REGULAR, operand)  # fmt: skip
    _rows(frame, buffers, ready, out, tile, first, M, K, E, scale, True, LIMBS, WP, PARTS, EVEN_M,
          EVEN_K, BM, BE, CHUNKS, CACHE, mma, place)  # fmt: skip
    thread_barrier()  # or one before each chunk of every later tile
    tile += step
    while tile < tiles:
        frame = frame_of(x, lengths, tile, M, T, stride_x, history, shift, W, WP, SHIFT, BM,
                       HAS_LENGTHS, REGULAR, operand)  # fmt: skip
        _rows(frame, buffers, ready, out, tile, first, M, K, E, scale, False, LIMBS, WP, PARTS,
              EVEN_M, EVEN_K, BM, BE, CHUNKS, CACHE, mma, place)  # fmt: skip
        tile += step

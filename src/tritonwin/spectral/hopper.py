"""The encoder for sm_90: taps resident in shared memory, accumulators stored as they are.

One program an SM keeps its taps on chip and walks over row tiles. The frame of bytes is built in
registers as the left operand of wgmma, straight from global memory. Columns of the taps are
permuted so that a thread's accumulators are 16 contiguous bytes of output: no exchange through
shared memory and, after the first tile, no barrier stands between bytes and stores.
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
        end = gl.load(lengths + b, mask=m < M, other=0)
        end = gl.where(t < end, end + history, 0)  # past the end: an empty frame, so 0
    at = gl.expand_dims(t + (history + shift), 1) - gl.expand_dims(lag, 0)
    # a row tile may reach past the last row: what stands there is never stored
    here = (at >= 0) & (at < gl.expand_dims(end, 1)) & gl.expand_dims(m < M, 1)
    if WP != W:
        here = here & gl.expand_dims(lag < W, 0)
    row = b.to(gl.int64) * stride_x
    return gl.load(x + (gl.expand_dims(row, 1) + at), mask=here, other=0), here


@gluon.jit
def _half(byte, SHIFT: gl.constexpr):
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
        frame = _half(gl.load(base + of_register), SHIFT)  # most tiles: no row starts or ends here
    elif not REGULAR:
        byte, here = _bytes(x, lengths, tile, M, T, stride_x, history, shift, W, WP, BM,
                            HAS_LENGTHS, operand)  # fmt: skip
        frame = gl.where(here, _half(byte, SHIFT), 0.0).to(gl.float16)
    else:
        here = of_register >= WP - 1 - newest - of_thread
        byte = gl.load(base + of_register, mask=here, other=0)
        frame = gl.where(here, _half(byte, SHIFT), 0.0).to(gl.float16)
    return frame


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
    return gl.log(size + 1e-3) if PARTS == "logmag" else size


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
def _rows(frame, buffers, ready, out, tile, first, M, K, E, scale, WAIT: gl.constexpr,
          LIMBS: gl.constexpr, WP: gl.constexpr, PARTS: gl.constexpr, EVEN_M: gl.constexpr,
          EVEN_K: gl.constexpr, BM: gl.constexpr, BE: gl.constexpr, CHUNKS: gl.constexpr,
          CACHE: gl.constexpr, mma: gl.constexpr, place: gl.constexpr):  # fmt: skip
    """One row tile."""
    for chunk in range(CHUNKS):
        if WAIT:
            mbarrier.wait(ready.index(chunk), 0)
        both = spectrum(frame, buffers.index(chunk), LIMBS, WP, BM, BE, mma)
        this = warpgroup_mma_wait(0, deps=[both])
        _emit(this, out, tile, first + chunk, M, K, E, scale, PARTS, BM, BE, EVEN_M, EVEN_K,
              place, CACHE)  # fmt: skip


@gluon.jit
def _copy_taps(taps, buffers, ready, first, ROWS: gl.constexpr, BOX: gl.constexpr,
               BE: gl.constexpr, CHUNKS: gl.constexpr):  # fmt: skip
    """Begin to copy this program's taps, one barrier a chunk."""
    for chunk in gl.static_range(CHUNKS):
        mbarrier.expect(ready.index(chunk), ROWS * BE * 4)
        for part in gl.static_range(ROWS // BOX):
            tma.async_copy_global_to_shared(
                taps, [(first + chunk) * ROWS + part * BOX, 0], ready.index(chunk),
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
    ready = gl.allocate_shared_memory(gl.int64, [CHUNKS, 1], mbarrier.MBarrierLayout())
    for chunk in gl.static_range(CHUNKS):
        mbarrier.init(ready.index(chunk), count=1)
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
    tile += step
    while tile < tiles:
        frame = frame_of(x, lengths, tile, M, T, stride_x, history, shift, W, WP, SHIFT, BM,
                       HAS_LENGTHS, REGULAR, operand)  # fmt: skip
        _rows(frame, buffers, ready, out, tile, first, M, K, E, scale, False, LIMBS, WP, PARTS,
              EVEN_M, EVEN_K, BM, BE, CHUNKS, CACHE, mma, place)  # fmt: skip
        tile += step

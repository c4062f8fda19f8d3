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

# renamed in Triton 3.7
thread_barrier = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier
UNROLLED = gl.constexpr(8)  # more chunks than these are all awaited before the first is used


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
def frame_of(x, lengths, tile, M, T, stride_x, history, S: gl.constexpr, operand: gl.constexpr,
             ROWS: gl.constexpr = 8, STEPS: gl.constexpr = ~6):  # fmt: skip
    """Frames (bm, rows) fp16, 0 outside the row; as the left operand unless another layout is
    given, with the bits of rows and of bytes that differ between registers of a thread.

    S.regular: every tile lies in one row, causal, without history and lengths, so that only tiles
    at a row's start need a mask, and only for what is before the row.
    """
    SCALE: gl.constexpr = S.scale
    LAST: gl.constexpr = S.rows - 1
    b = tile * S.bm // T
    newest = tile * S.bm - b * T + history + S.shift  # of the tile's first row
    row = gl.arange(0, S.bm, layout=gl.SliceLayout(1, operand))
    j = gl.arange(0, S.rows, layout=gl.SliceLayout(0, operand))
    # row + j, with what differs between threads of the operand's layout apart from what differs
    # between registers: addresses are then one base and constants, and equal ones are seen
    of_thread = gl.expand_dims(row & ~ROWS, 1) + gl.expand_dims(j & ~STEPS, 0)
    of_register = gl.expand_dims(row & ROWS, 1) + gl.expand_dims(j & STEPS, 0)
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


@gluon.constexpr_function
def product_layout(S):
    """Of [re | im] (bm, 2 be), as wgmma leaves it."""
    return gl.NVMMADistributedLayout([3, 0], [S.warps, 1], [16, 2 * S.be, 16])


@gluon.constexpr_function
def store_layout(S, width, bits):
    """The accumulators' layout with its columns renamed: 16 bytes of a row a thread."""
    pairs = 64 // bits
    registers = [[0, 1]] + [[0, 2 << i] for i in range(pairs.bit_length() - 1)] + [[8, 0]]
    found = 8 * pairs
    while found < width:
        registers.append([0, found])
        found *= 2
    lanes = [[0, 2 * pairs], [0, 4 * pairs], [1, 0], [2, 0], [4, 0]]
    rows = [[16 << i, 0] for i in range(S.warps.bit_length() - 1)]
    return gl.DistributedLinearLayout(registers, lanes, rows, [], [S.bm, width])


@gluon.jit
def spectrum(frame, taps, S: gl.constexpr):
    """Start [re | im] (bm, 2 be) of one chunk of bins; taps: its limbs in shared memory."""
    LIMBS: gl.constexpr = S.limbs
    ROWS: gl.constexpr = S.bm
    COLUMNS: gl.constexpr = 2 * S.be
    mma: gl.constexpr = product_layout(S)
    both = warpgroup_mma_init(gl.zeros((ROWS, COLUMNS), gl.float32, mma))
    for limb in gl.static_range(LIMBS):
        both = warpgroup_mma(frame, taps.slice(limb * S.rows, S.rows), both, use_acc=limb > 0,
                             is_async=True)  # fmt: skip
    return both


@gluon.jit
def re_and_im(both, S: gl.constexpr):
    """The two halves of the columns; they are different registers of each thread."""
    return gl.split(both.reshape([S.bm, 2, S.be]).permute([0, 2, 1]))


@gluon.jit
def select_parts(re, im, S: gl.constexpr):
    power = re * re + im * im
    if S.parts == "power":
        return power
    size = gl.inline_asm_elementwise(
        "sqrt.approx.ftz.f32 $0, $1;", "=f,f", [power], dtype=gl.float32, is_pure=True, pack=1
    )
    if S.parts == "logmag":
        size = 0.6931471805599453 * gl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [size + 1e-3], dtype=gl.float32, is_pure=True,
            pack=1,
        )  # fmt: skip
    return size


@gluon.jit
def placed(value, PERMUTED: gl.constexpr, WIDTH: gl.constexpr, BITS: gl.constexpr,
           S: gl.constexpr):  # fmt: skip
    """(bm, WIDTH) in the layout in which numbers of BITS are stored."""
    if PERMUTED:  # a change of names: registers stay where they are
        PAIRS: gl.constexpr = 64 // BITS
        split = value.reshape([S.bm, WIDTH // (8 * PAIRS), PAIRS, 4, 2])
        value = split.permute([0, 1, 3, 2, 4]).reshape([S.bm, WIDTH])
    return gl.convert_layout(value, store_layout(S, WIDTH, BITS))


@gluon.jit
def put(flat, out, tile, column, M, BOUND: gl.constexpr, E: gl.constexpr, WIDTH: gl.constexpr,
        S: gl.constexpr):  # fmt: skip
    """Store what is `placed` at a column of out (M, E), columns below BOUND."""
    place: gl.constexpr = store_layout(S, WIDTH, out.dtype.element_ty.primitive_bitwidth)
    m = tile * S.bm + gl.arange(0, S.bm, layout=gl.SliceLayout(1, place))
    e = column + gl.arange(0, WIDTH, layout=gl.SliceLayout(0, place))
    to = out + (gl.expand_dims(m.to(gl.int64) * E, 1) + gl.expand_dims(e, 0))
    if S.even_rows and S.even:
        gl.store(to, flat, cache_modifier=S.cache)
    else:
        here = gl.expand_dims(m < M, 1) & gl.expand_dims(e < (E if S.even else BOUND), 0)
        gl.store(to, flat, mask=here, cache_modifier=S.cache)


@gluon.jit
def _rows(frame, buffers, ready, out, tile, first, M, WAIT: gl.constexpr, S: gl.constexpr):
    """One row tile; WAIT: the first, whose taps are still coming."""
    CHUNKS: gl.constexpr = S.chunks
    if WAIT and CHUNKS <= UNROLLED:
        for chunk in gl.static_range(CHUNKS):
            mbarrier.wait(ready[chunk], 0)
            _chunk(frame, buffers, out, tile, first, chunk, M, S)
    else:
        if WAIT:
            all_come(ready, CHUNKS)
        for chunk in range(CHUNKS):
            _chunk(frame, buffers, out, tile, first, chunk, M, S)


@gluon.jit
def _chunk(frame, buffers, out, tile, first, chunk, M, S: gl.constexpr):
    """One chunk of bins of a row tile."""
    both = spectrum(frame, buffers.index(chunk), S)
    re, im = re_and_im(warpgroup_mma_wait(0, deps=[both]), S)
    column = (first + chunk) * S.be
    kind: gl.constexpr = out.dtype.element_ty
    BITS: gl.constexpr = kind.primitive_bitwidth
    if S.parts == "reim":
        flat = placed((re * S.factor).to(kind), True, S.be, BITS, S)
        put(flat, out, tile, column, M, S.K, S.features, S.be, S)
        flat = placed((im * S.factor).to(kind), True, S.be, BITS, S)
        put(flat, out + S.K, tile, column, M, S.K, S.features, S.be, S)
    else:
        flat = placed(select_parts(re, im, S).to(kind), True, S.be, BITS, S)
        put(flat, out, tile, column, M, S.K, S.features, S.be, S)


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
def copy_taps(taps, buffers, ready, first, MORE: gl.constexpr, S: gl.constexpr):
    """Begin to copy this program's taps, one mbarrier a chunk; it awaits MORE bytes beside them."""
    CHUNKS: gl.constexpr = S.chunks
    ROWS: gl.constexpr = S.limbs * S.rows
    BOX: gl.constexpr = taps.block_type.shape[0]
    PARTS: gl.constexpr = ROWS // BOX
    for chunk in gl.static_range(CHUNKS):
        mbarrier.expect(ready[chunk], ROWS * S.be * 4 + MORE)
    for chunk in gl.static_range(CHUNKS):
        for part in gl.static_range(PARTS):
            tma.async_copy_global_to_shared(
                taps, [(first + chunk) * ROWS + part * BOX, 0], ready[chunk],
                buffers.index(chunk).slice(part * BOX, BOX),
            )  # fmt: skip


@gluon.jit
def encode(x, taps, out, lengths, M, T, stride_x, history, S: gl.constexpr):
    """Grid: split x as many as fit; a program owns `chunks` chunks of `be` bins.

    x: uint8, row b at x + b*stride_x, `history` bytes of which precede the T encoded ones.
    taps: descriptor of fp16 (chunks*limbs*rows, 2 be), [re | im], oldest first; see `pack.arrange`.
    out: (M, features) contiguous, M = B*T.
    """
    CHUNKS: gl.constexpr = S.chunks
    operand: gl.constexpr = gl.DotOperandLayout(0, product_layout(S), 2)
    buffers = gl.allocate_shared_memory(gl.float16, [CHUNKS, S.limbs * S.rows, 2 * S.be],
                                        taps.layout)  # fmt: skip
    ready = mbarriers(CHUNKS)
    first = gl.program_id(0) % S.split * CHUNKS
    tile = gl.program_id(0) // S.split
    step = gl.num_programs(0) // S.split
    tiles = (M + S.bm - 1) // S.bm
    if S.early:
        gdc_launch_dependents()
    copy_taps(taps, buffers, ready, first, 0, S)
    if S.early:  # taps were there long before; only the bytes may be the last kernel's work
        gdc_wait()
    frame = frame_of(x, lengths, tile, M, T, stride_x, history, S, operand)
    _rows(frame, buffers, ready, out, tile, first, M, True, S)
    thread_barrier()  # or one before each chunk of every later tile
    tile += step
    while tile < tiles:
        frame = frame_of(x, lengths, tile, M, T, stride_x, history, S, operand)
        _rows(frame, buffers, ready, out, tile, first, M, False, S)
        tile += step

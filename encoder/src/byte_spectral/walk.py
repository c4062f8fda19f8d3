"""The walk: windows of any length at one cost, for sm_80 and later. See docs/window.md.

A "tail" window is (1 + cos(pi m / W))/2, so with d = pi/W a position is three sums of plain
exponentials of the bytes s[j] of the window, j counted from the start of a chunk of positions:

    P = sum s[j] e^{iwj},  C = sum s[j] cos(dj) e^{iwj},  S = sum s[j] sin(dj) e^{iwj}

and |X| at the chunk's position n is |P + cos(dn) C + sin(dn) S| / 2. From n-1 to n the byte s[n]
comes, with cos(dn) and sin(dn), and s[n-W] leaves, with -cos(dn), -sin(dn) and its phase turned by
e^{-iwW}. "rect" is P alone. A program has a segment of chunks side by side, and walks through all
of them at once; its sums and its moves stay on chip.

Tensor cores make a block's sum at w from its bytes, and those at w+d and w-d from the bytes times
cos and sin, so that one table of exponentials serves all three. In the diagonal form (P, C + iS,
C - iS) a block further is one factor z, and the sums of a chunk follow from those of the one before
as a position's do in the walk: what comes, less what leaves. A thread has a column of blocks.

Phases are counted from the start of a run of TURNS positions, so e^{iwr}, r < TURNS, stays in
registers and cos(dr), sin(dr) are constants of the code; at a run's end the three sums are turned.
"""

from __future__ import annotations

import math

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from byte_spectral.hopper import select_parts, thread_barrier


@gluon.constexpr_function
def cos(n, W):
    return math.cos(math.pi * n / W)


@gluon.constexpr_function
def sin(n, W):
    return math.sin(math.pi * n / W)


@gluon.constexpr_function
def log2(n):
    return n.bit_length() - 1


@gluon.jit
def _times(a, b):
    """The product of complex numbers, pairs of re and im."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@gluon.jit
def _turned(a, b, more_re, more_im):
    """a b + more: two operations deep from a."""
    return a[0] * b[0] + (more_re - a[1] * b[1]), a[1] * b[0] + (more_im + a[0] * b[1])


@gluon.jit
def _add(total, factor, a):
    """total + factor * a, the factor real."""
    return total[0] + factor * a[0], total[1] + factor * a[1]


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
def _bytes(row, first, oldest, end, S: gl.constexpr, flat: gl.constexpr):
    """Of blocks from position `first` on, (rows, steps), and which are in the row and not older."""
    c = gl.arange(0, S.rows, layout=gl.SliceLayout(1, flat))
    j = gl.arange(0, S.steps, layout=gl.SliceLayout(0, flat))
    at = first + gl.expand_dims(c * S.steps, 1) + gl.expand_dims(j, 0)
    here = (at >= oldest) & (at >= 0) & (at < end)
    return gl.load(row + at, mask=here, other=0).to(gl.float32), here


@gluon.jit
def _signal(row, first, end, S: gl.constexpr, flat: gl.constexpr):
    byte, here = _bytes(row, first, 0, end, S, flat)
    return gl.where(here, byte * (S.gain * (2.0 / 255.0)) - S.gain, 0.0)


@gluon.jit
def _put_moves(row, moves, first, end, S: gl.constexpr, flat: gl.constexpr):
    """For each position gain * s of the byte that comes and of the one that leaves; their
    difference and their sum where no bin turns the latter by more than its sign."""
    new = _signal(row, first, end, S, flat)
    old = _signal(row, first - S.W, end, S, flat)
    both = gl.join(new - old, new + old) if S.sign > 0 else gl.join(new, old)
    BLOCKS: gl.constexpr = S.steps // S.turns
    both = both.reshape([S.rows, BLOCKS, 2 * S.turns]).permute([1, 0, 2])
    moves.store(both.reshape([BLOCKS * S.rows, 2 * S.turns]))


@gluon.jit
def _block_sums(row, first, oldest, end, ramp, left, taps, sums, S: gl.constexpr,
                mma: gl.constexpr, flat: gl.constexpr, columns: gl.constexpr):  # fmt: skip
    """re, im of each block's sums at w, w-d, w+d, w-d as columns 4k .. 4k + 3, a column a thread;
    phases from the block's end."""
    one: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    two: gl.constexpr = gl.DotOperandLayout(1, mma, 2)
    LIMBS: gl.constexpr = S.limbs
    ROWS: gl.constexpr = S.rows
    WIDTH: gl.constexpr = 2 * S.bins
    byte, here = _bytes(row, first, oldest, end, S, flat)
    u = gl.where(here, byte * (2.0 ** (1 - S.scale)) - 255.0 * 2.0**-S.scale, 0.0)
    a = u * ramp[0]
    b = u * ramp[1]
    high_a = a.to(gl.float16)
    high_b = b.to(gl.float16)
    left[0].store(u.to(gl.float16))
    left[1].store(high_a)
    left[2].store(high_b)
    if S.byte_limbs == 2:
        left[3].store((a - high_a.to(gl.float32)).to(gl.float16))
        left[4].store((b - high_b.to(gl.float32)).to(gl.float16))
    p = gl.zeros((ROWS, WIDTH), gl.float32, mma)
    c, s = p, p
    for limb in gl.static_range(LIMBS):
        right = taps.index(limb).load(two)
        p = mma_v2(left[0].load(one), right, p)
        c = mma_v2(left[1].load(one), right, c)
        s = mma_v2(left[2].load(one), right, s)
        if S.byte_limbs == 2 and limb == 0:
            c = mma_v2(left[3].load(one), right, c)
            s = mma_v2(left[4].load(one), right, s)
    p_re, p_im = gl.split(p.reshape([S.rows, S.bins, 2]))
    c_re, c_im = gl.split(c.reshape([S.rows, S.bins, 2]))
    s_re, s_im = gl.split(s.reshape([S.rows, S.bins, 2]))
    more_re = c_re - s_im
    more_im = c_im + s_re
    less_re = c_re + s_im
    less_im = c_im - s_re
    re = gl.join(gl.join(p_re, more_re), gl.join(less_re, less_re)).reshape([S.rows, 4 * S.bins])
    im = gl.join(gl.join(p_im, more_im), gl.join(less_im, less_im)).reshape([S.rows, 4 * S.bins])
    sums[0].store(re)
    sums[1].store(im)
    blocks: gl.constexpr = gl.SliceLayout(0, columns)
    re = rows_of(sums[0].load(columns), S.rows, 4 * S.bins, log2(S.rows), blocks)
    return re, rows_of(sums[1].load(columns), S.rows, 4 * S.bins, log2(S.rows), blocks)


@gluon.jit
def _unjoined(found, sums, S: gl.constexpr, columns: gl.constexpr, wide: gl.constexpr,
              main: gl.constexpr):  # fmt: skip
    """Rows of 4 bins columns -> of P, C + iS, C - iS (rows, bins) as the walk holds them."""
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [3, 2, 1, 0])
    stacked = _stack(found, S.rows, 4 * S.bins, log2(S.rows))
    sums.store(gl.convert_layout(stacked, columns))
    four = sums._reinterpret(gl.float32, [S.rows, S.bins, 2, 2], plain)
    first, second = gl.split(four.load(wide))
    p, more = gl.split(first)
    less, _ = gl.split(second)
    more = gl.convert_layout(more, main)
    return gl.convert_layout(p, main), more, gl.convert_layout(less, main)


@gluon.jit
def _starts(row, taps, left, sums, z, away, ramp, first, end, S: gl.constexpr,
            mma: gl.constexpr, flat: gl.constexpr, columns: gl.constexpr, wide: gl.constexpr,
            main: gl.constexpr):  # fmt: skip
    """P, C, S (pairs; rows, bins) of the windows that end just before each chunk.

    No sum holds a byte of its chunk or a later one, not even for a moment: that would show in the
    last bits. Where the window is at most ROWS whole blocks, blocks that leave are known by then.
    """
    ROWS: gl.constexpr = S.rows
    LENGTH: gl.constexpr = S.rows * S.steps
    TILES: gl.constexpr = (S.W + LENGTH - 1) // LENGTH
    Q: gl.constexpr = S.W // S.steps
    KNOWN: gl.constexpr = S.W % S.steps == 0 and TILES == 1
    re = z[0] * 0.0
    im = re
    olds_re = (re,) * ROWS
    olds_im = olds_re
    if first > 0:
        for tile in range(TILES):
            olds_re, olds_im = _block_sums(row, first - (TILES - tile) * LENGTH, first - S.W, end,
                                           ramp, left, taps, sums, S, mma, flat,
                                           columns)  # fmt: skip
            for c in gl.static_range(ROWS):
                re, im = _turned((re, im), z, olds_re[c], olds_im[c])
    if not KNOWN:  # noqa: SIM102 - the one is known when compiling
        if (first > 0) | (LENGTH > S.W):
            olds_re, olds_im = _block_sums(row, first - S.W, 0, end, ramp, left, taps, sums, S,
                                           mma, flat, columns)  # fmt: skip
    news_re, news_im = _block_sums(row, first, 0, end, ramp, left, taps, sums, S, mma, flat,
                                   columns)  # fmt: skip
    found_re = (re,)
    found_im = (im,)
    for c in gl.static_range(ROWS - 1):
        if KNOWN and c >= Q:
            gone = (news_re[c - Q], news_im[c - Q])
        else:
            gone = (olds_re[c + (ROWS - Q if KNOWN else 0)],
                    olds_im[c + (ROWS - Q if KNOWN else 0)])  # fmt: skip
        gone_re, gone_im = _times(gone, away)
        re, im = _turned((re, im), z, news_re[c] - gone_re, news_im[c] - gone_im)
        found_re += (re,)
        found_im += (im,)
    p_re, more_re, less_re = _unjoined(found_re, sums[0], S, columns, wide, main)
    p_im, more_im, less_im = _unjoined(found_im, sums[1], S, columns, wide, main)
    c = (0.5 * (more_re + less_re), 0.5 * (more_im + less_im))
    return (p_re, p_im), c, (0.5 * (more_im - less_im), 0.5 * (less_re - more_re))


@gluon.jit
def _put(to, x, e, inside, live, S: gl.constexpr):
    """The parts at a position of each chunk; e^{iwr} is the phase to take off again."""
    COUNT: gl.constexpr = 2 if S.parts == "reim" else 1
    back = (x[0] * e[0] + x[1] * e[1], x[1] * e[0] - x[0] * e[1])
    values = back if S.parts == "reim" else (select_parts(x[0], x[1], S),)
    for i in gl.static_range(COUNT):
        value = values[i]
        if S.lengths:
            value = gl.where(live, value, 0.0)
        value = value.to(to.dtype.element_ty)
        if S.even:
            gl.store(to + i * S.K, value, cache_modifier=".cs")
        else:
            gl.store(to + i * S.K, value, mask=inside, cache_modifier=".cs")


@gluon.jit
def _copy(taps, buffers, S: gl.constexpr, copied: gl.constexpr):
    """Begin to copy the exponentials of a tile."""
    WIDTH: gl.constexpr = 2 * S.bins
    LIMBS: gl.constexpr = S.limbs
    step = gl.arange(0, S.steps, layout=gl.SliceLayout(1, copied))
    taps = taps + gl.expand_dims(step * WIDTH, 1)
    taps = taps + gl.expand_dims(gl.arange(0, WIDTH, layout=gl.SliceLayout(0, copied)), 0)
    for limb in gl.static_range(LIMBS):
        async_copy.async_copy_global_to_shared(buffers.index(limb), taps + limb * S.steps * WIDTH)
    async_copy.commit_group()


@gluon.jit
def _allocate(COUNT: gl.constexpr, kind: gl.constexpr, ROWS: gl.constexpr, WIDTH: gl.constexpr,
              layout: gl.constexpr):  # fmt: skip
    """One buffer each: between stores to parts of one Triton puts a barrier."""
    made = ()
    for _ in gl.static_range(COUNT):
        made += (gl.allocate_shared_memory(kind, [ROWS, WIDTH], layout),)
    return made


@gluon.jit
def _turns(table, S: gl.constexpr):
    """Re, im of e^{iwr}, r < turns, of e^{-iw turns} and, where bytes leave out of phase, of
    e^{iw(r - W)}."""
    PHASES: gl.constexpr = 4 * S.turns + 2 if S.sign == 0 else 2 * S.turns + 2
    found = ()
    for r in gl.static_range(PHASES):
        found += (gl.expand_dims(gl.load(table + r * S.padded), 0),)
    return found


# a length of 1 is a number like others: as a constant Triton 3.6 cannot compile it
@gluon.jit(do_not_specialize=["length", "R", "stride_x", "skip"])
def walk(x, taps, table, turn, ramp, out, lengths, length, R, stride_x, skip, S: gl.constexpr):
    """Grid (B * segments, tiles of bins). x uint8, row b of `length` bytes at x + b*stride_x, of
    which the first `skip` are history; out (B, R, E), R = length - skip.

    taps: fp16 (tiles * limbs * steps, 2 bins), e^{iw(j - steps)} with the gain, re and im of a bin
    side by side, limbs of a tile one after the other.
    table (4 turns + 2, padded): re, im of e^{iwr}, r < turns; of e^{-iw turns}; of e^{iw(r - W)}.
    turn (4, 4 padded): re, im of e^{-iv steps}, then of e^{-ivW}; column 4k + i, v = w, w-d, w+d,
    w-d. ramp (2, steps): cos and sin of d(j - steps).
    """
    W: gl.constexpr = S.W
    TURNS: gl.constexpr = S.turns
    BLOCKS: gl.constexpr = S.steps // S.turns
    LIMBS: gl.constexpr = S.limbs
    E: gl.constexpr = S.features
    PLAIN: gl.constexpr = S.sign == 0 or not S.ahead  # no registers for products of the table
    warps: gl.constexpr = gl.num_warps()
    lane: gl.constexpr = S.lane
    lanes: gl.constexpr = [32 * S.lane // S.bins, S.bins // S.lane]
    per: gl.constexpr = S.rows // (warps * lanes[0])
    main: gl.constexpr = gl.BlockedLayout([per, lane], lanes, [warps, 1], [1, 0])
    wide: gl.constexpr = gl.BlockedLayout([per, lane, 2, 2], [lanes[0], lanes[1], 1, 1],
                                          [warps, 1, 1, 1], [3, 2, 1, 0])  # fmt: skip
    flat: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [warps, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([S.rows, 1], [1, 32], [1, warps], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [1, warps], [16, 8])
    whole: gl.constexpr = gl.BlockedLayout([per, 2 * S.turns], lanes, [warps, 1], [1, 0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    operand: gl.constexpr = gl.NVMMASharedLayout.get_default_for([S.rows, S.steps], gl.float16)
    copied: gl.constexpr = gl.BlockedLayout(
        [1, 8], [128 // S.bins, S.bins // 4], [warps, 1], [1, 0]
    )
    exponentials: gl.constexpr = gl.NVMMASharedLayout.get_default_for([S.steps, 2 * S.bins],
                                                                      gl.float16)  # fmt: skip
    buffers = gl.allocate_shared_memory(gl.float16, [LIMBS, S.steps, 2 * S.bins], exponentials)
    left = _allocate(2 * S.byte_limbs + 1, gl.float16, S.rows, S.steps, operand)
    sums = _allocate(2, gl.float32, S.rows, 4 * S.bins, plain)
    moves = gl.allocate_shared_memory(gl.float32, [BLOCKS, S.rows, 2 * S.turns], plain)
    if S.early == 1:
        gdc_launch_dependents()
    tile = gl.program_id(1)
    _copy(taps + tile * (LIMBS * S.steps * 2 * S.bins), buffers, S, copied)
    column = tile * (4 * S.bins) + gl.arange(0, 4 * S.bins, layout=gl.SliceLayout(0, columns))
    z = (gl.load(turn + column), gl.load(turn + 4 * S.padded + column))
    away = (gl.load(turn + 8 * S.padded + column), gl.load(turn + 12 * S.padded + column))
    j = gl.arange(0, S.steps, layout=gl.SliceLayout(0, flat))
    k = tile * S.bins + gl.arange(0, S.bins, layout=gl.SliceLayout(0, main))
    turns = _turns(table + k, S) if S.ahead else ()
    ramps = (gl.expand_dims(gl.load(ramp + j), 0), gl.expand_dims(gl.load(ramp + S.steps + j), 0))
    if S.early > 0:  # constants were there before; only the bytes may be the last kernel's work
        gdc_wait()
    segments = (R + S.rows * S.steps - 1) // (S.rows * S.steps)
    b = gl.program_id(0) // segments
    first = (gl.program_id(0) - b * segments) * (S.rows * S.steps)
    row = x + b.to(gl.int64) * stride_x
    end = length
    if S.lengths:
        end = gl.minimum(end, gl.load(lengths + b))
    at = first + skip + S.shift
    flat_moves = moves._reinterpret(gl.float32, [BLOCKS * S.rows, 2 * S.turns], plain)
    _put_moves(row, flat_moves, at, end, S, flat)
    async_copy.wait_group(0)
    thread_barrier()
    p, c, s = _starts(row, buffers, left, sums, z, away, ramps, at, end, S, mma, flat, columns,
                      wide, main)  # fmt: skip
    turns = turns if S.ahead else _turns(table + k, S)
    chunk = gl.arange(0, S.rows, layout=gl.SliceLayout(1, main))
    t = gl.expand_dims(first + chunk * S.steps, 1)
    good = gl.expand_dims(k < S.K, 0)
    odd = gl.expand_dims(k % 2 == 1, 0) & gl.expand_dims(chunk >= 0, 1)
    to = out + (b.to(gl.int64) * R + first) * E
    to = to + (gl.expand_dims(chunk * (S.steps * E), 1) + gl.expand_dims(k, 0))
    thread_barrier()  # `moves` is written, under another shape
    for block in range(BLOCKS):
        if (S.early == 2) & (block == BLOCKS - 1):
            gdc_launch_dependents()
        given = rows_of(moves.index(block).load(whole).permute([1, 0]), 2 * S.turns, S.rows,
                        log2(2 * S.turns), gl.SliceLayout(1, main))  # fmt: skip
        for r in gl.static_range(TURNS):
            e = (turns[2 * r], turns[2 * r + 1])
            new = gl.expand_dims(given[2 * r], 1)
            old = gl.expand_dims(given[2 * r + 1], 1)
            if S.sign > 0:  # their difference and their sum
                if S.sign == 2:  # the other way round for bins that turn what leaves by -1
                    less = gl.where(odd, old, new)
                    old = gl.where(odd, new, old)
                    new = less
                p = _add(p, new, e)
                a = (old * e[0], old * e[1])
            else:
                far = (turns[2 * (TURNS + 1 + r)], turns[2 * (TURNS + 1 + r) + 1])
                a = (new * e[0], new * e[1])
                p = p[0] + a[0] - old * far[0], p[1] + a[1] - old * far[1]
                a = _add(a, old, far)
            x_n = p
            if S.tail:
                e_c = (cos(r, W) * e[0], cos(r, W) * e[1])
                c = _add(c, cos(r, W), a) if PLAIN else _add(c, old, e_c)
                x_n = _add(p, cos(r, W), c)
                if r > 0:  # compilers keep products with 0
                    e_s = (sin(r, W) * e[0], sin(r, W) * e[1])
                    s = _add(s, sin(r, W), a) if PLAIN else _add(s, old, e_s)
                    x_n = _add(x_n, sin(r, W), s)
            _put(to + r * E, x_n, e, (t + r < R) & good, (t + r + skip < end) & good, S)
        to = to + TURNS * E
        t = t + TURNS
        further = (turns[2 * TURNS], turns[2 * TURNS + 1])
        q = _add((cos(TURNS, W) * c[0], cos(TURNS, W) * c[1]), sin(TURNS, W), s)
        s = _times(_add((cos(TURNS, W) * s[0], cos(TURNS, W) * s[1]), -sin(TURNS, W), c), further)
        c = _times(q, further)
        p = _times(p, further)

"""The walk: windows of any length at one cost, in one Triton kernel. See docs/window.md.

A "tail" window is (1 + cos(pi m / W))/2, so with d = pi/W a position is three sums of plain
exponentials of the bytes s[j] of the window, j counted from the start of a chunk of positions:

    P = sum s[j] e^{iwj},  C = sum s[j] cos(dj) e^{iwj},  S = sum s[j] sin(dj) e^{iwj}

and |X| at the chunk's position n is |P + cos(dn) C + sin(dn) S| / 2. From n-1 to n the byte s[n]
comes, with cos(dn) and sin(dn), and s[n-W] leaves, with -cos(dn), -sin(dn) and its phase turned by
e^{-iwW}. "rect" has P only.

A program has a segment of chunks side by side, and walks through all of them at once. The sums at
the chunks' starts come first, from the sums of whole blocks of a chunk's length on tensor cores.
"""

from __future__ import annotations

import triton
import triton.language as tl

from byte_spectral.kernels import dot_tiles, select_parts, tap_tiles


@triton.jit
def _turned(re, im, turns, at, k, GROUP: tl.constexpr, S: tl.constexpr):
    """(re, im) times e^{iv steps at}, v the frequency of the group; `at` one a row."""
    least: tl.constexpr = -(S.W // S.steps) - S.rows
    where = turns + (((at - least) * S.groups + GROUP) * (2 * S.K))[:, None] + k[None, :]
    good = (k < S.K)[None, :]
    cos = tl.load(where, mask=good, other=0)
    sin = tl.load(where + S.K, mask=good, other=0)
    return re * cos - im * sin, re * sin + im * cos


@triton.jit
def _bytes(row, newest, end, COUNT: tl.constexpr, S: tl.constexpr):
    """(2x - 255) / 2^scale of the COUNT newest bytes of blocks, one a row, oldest first."""
    lag = S.steps - 1 - tl.arange(0, S.steps)
    at = newest[:, None] - lag[None, :]
    here = (at >= 0) & (at < end) & (lag < COUNT)[None, :]
    byte = tl.load(row + at, mask=here, other=0).to(tl.float32)
    return tl.where(here, byte * (2.0 ** (1 - S.scale)) - 255.0 * 2.0**-S.scale, 0.0)


@triton.jit
def _choose(chosen, value, total, LIMBS: tl.constexpr):
    """total + chosen @ value, `chosen` of 0 and 1; in fp16 limbs, as the exponentials."""
    if LIMBS == 0:
        total = tl.dot(chosen.to(tl.float32), value, total, input_precision="ieee")
    else:
        part = chosen.to(tl.float16)
        for _ in tl.static_range(LIMBS):
            limb = value.to(tl.float16)
            total = tl.dot(part, limb, total)
            value -= limb.to(tl.float32)
    return total


@triton.jit
def _put_starts(row, taps, turns, scratch, first, end, k, S: tl.constexpr):
    """Store re and im of each group's sum over the window just before each chunk, phases from the
    chunk's start: (groups, 2, rows, bins).

    Blocks are chunks and what lies before them, -1 the one before chunk 0. A window is Q whole
    blocks, and the newest bytes of one more.
    """
    Q: tl.constexpr = S.W // S.steps
    REST: tl.constexpr = S.W % S.steps
    ROWS: tl.constexpr = S.rows
    BINS: tl.constexpr = S.bins
    GROUPS: tl.constexpr = S.groups
    TILES: tl.constexpr = (Q + 2 * ROWS - 2) // ROWS
    o = tl.arange(0, ROWS)
    sums = ()
    tiles = ()
    for group in tl.static_range(GROUPS):
        at = group * S.padded + k
        tiles += (tap_tiles(taps, at, S.steps, GROUPS * S.padded, S.limbs),)
        sums += (tl.zeros((ROWS, BINS), tl.float32), tl.zeros((ROWS, BINS), tl.float32))
    before = tl.maximum(first + S.steps - 1, 0) // S.steps  # blocks of the row before chunk 0
    for tile in range(tl.maximum(TILES - 1 - (before + ROWS - 2) // ROWS, 0), TILES):
        block = (tile - TILES + 1) * ROWS + o - 1
        u = _bytes(row, first + (block + 1) * S.steps - 1, end, S.steps, S)
        chosen = (block[None, :] < o[:, None]) & (block[None, :] >= o[:, None] - Q)
        more = ()
        for group in tl.static_range(GROUPS):
            re, im = dot_tiles(u, tiles[group], S.limbs)
            re, im = _turned(re, im, turns, block + 1, k, group, S)
            more += (_choose(chosen, re, sums[2 * group], S.limbs),
                     _choose(chosen, im, sums[2 * group + 1], S.limbs))  # fmt: skip
        sums = more
    to = scratch + o[:, None] * BINS + tl.arange(0, BINS)[None, :]
    for group in tl.static_range(GROUPS):
        re = sums[2 * group]
        im = sums[2 * group + 1]
        if REST > 0:
            u = _bytes(row, first + (o - Q) * S.steps - 1, end, REST, S)
            old_re, old_im = dot_tiles(u, tiles[group], S.limbs)
            old_re, old_im = _turned(old_re, old_im, turns, o - Q, k, group, S)
            re += old_re
            im += old_im
        re, im = _turned(re, im, turns, -o, k, group, S)
        tl.store(to + (2 * group) * (ROWS * BINS), re)
        tl.store(to + (2 * group + 1) * (ROWS * BINS), im)


@triton.jit
def _read_starts(own, S: tl.constexpr):
    """P, C, S as re and im; cos = (e^{id} + e^{-id}) / 2, sin = (e^{id} - e^{-id}) / 2i."""
    STEP: tl.constexpr = S.rows * S.bins
    to = own + tl.arange(0, S.rows)[:, None] * S.bins + tl.arange(0, S.bins)[None, :]
    p_re = tl.load(to)
    p_im = tl.load(to + STEP)
    c_re = p_re
    c_im = p_im
    s_re = p_re
    s_im = p_im
    if S.tail:
        more_re = 0.5 * tl.load(to + 2 * STEP)
        more_im = 0.5 * tl.load(to + 3 * STEP)
        less_re = 0.5 * tl.load(to + 4 * STEP)
        less_im = 0.5 * tl.load(to + 5 * STEP)
        c_re = more_re + less_re
        c_im = more_im + less_im
        s_re = more_im - less_im
        s_im = less_re - more_re
    return p_re, p_im, c_re, c_im, s_re, s_im


@triton.jit
def _moves(row, newest, end, ALL: tl.constexpr, S: tl.constexpr):
    """gain * s of the bytes that come at `turns` positions from `newest` on, and of those that
    leave; 0 outside the row. ALL: none is outside."""
    TURNS: tl.constexpr = S.turns
    to = row + newest
    found = ()
    for i in tl.static_range(2 * TURNS):
        far = i % TURNS - i // TURNS * S.W
        if ALL:
            value = tl.load(to + far).to(tl.float32) * (S.gain * (2.0 / 255.0)) - S.gain
        else:
            here = (newest + far >= 0) & (newest + far < end)
            byte = tl.load(to + far, mask=here, other=0).to(tl.float32)
            value = tl.where(here, byte * (S.gain * (2.0 / 255.0)) - S.gain, 0.0)
        found += (value[:, None],)
    return found


@triton.jit
def _phased(new, old, e_re, e_im, old_re, old_im, p_re, p_im):
    """The sum of the terms that enter and leave, and P moved on by their difference."""
    a_re = new * e_re
    a_im = new * e_im
    b_re = old * (e_re * old_re - e_im * old_im)
    b_im = old * (e_re * old_im + e_im * old_re)
    return a_re + b_re, a_im + b_im, p_re + (a_re - b_re), p_im + (a_im - b_im)


@triton.jit
def _put(to, re, im, e_re, e_im, inside, live, S: tl.constexpr):
    PARTS: tl.constexpr = S.parts
    COUNT: tl.constexpr = 2 if PARTS == "reim" else 1
    if PARTS == "reim":  # give the phase back
        values = (re * e_re + im * e_im, im * e_re - re * e_im)
    elif S.fast_root and PARTS != "power":
        size = tl.inline_asm_elementwise("sqrt.approx.ftz.f32 $0, $1;", "=f,f", [re * re + im * im],
                                         dtype=tl.float32, is_pure=True, pack=1)  # fmt: skip
        values = (tl.log(size + 1e-3) if PARTS == "logmag" else size,)
    else:
        values = (select_parts(re, im, PARTS),)
    for i in tl.static_range(COUNT):
        value = values[i]
        if S.lengths:
            value = tl.where(live, value, 0.0)
        mask = None if S.even else inside
        tl.store(to + i * S.K, value.to(to.dtype.element_ty), mask=mask, cache_modifier=".cs")


@triton.jit
def walk(x, taps, turns, table, ramp, scratch, out, lengths, length, R, stride_x, skip,
         S: tl.constexpr):  # fmt: skip
    """Grid (B*segments, tiles of bins). x uint8, row b of `length` bytes at x + b*stride_x, of
    which the first `skip` are history; out (B, R, E), R = length - skip.

    taps (limbs, steps, 2 groups padded): e^{-iv(l+1)} of the lags l, oldest first, for v = w, w+d,
    w-d, with the gain; turns (Q + 2 rows, groups, 2, K): e^{iv steps r}, r = -Q-rows .. rows-1;
    table (steps/turns + 2, 2, K): e^{iwn} at n = 0, turns, ..; then e^{iw}; then e^{-iwW}; ramp
    (steps, 2): cos(dn), sin(dn). scratch (grid, 2 groups, rows, bins): where the sums start from.
    """
    if S.early:
        tl.extra.cuda.gdc_launch_dependents()
    E: tl.constexpr = 2 * S.K if S.parts == "reim" else S.K
    TURNS: tl.constexpr = S.turns
    BLOCKS: tl.constexpr = S.steps // TURNS
    segments = tl.cdiv(R, S.rows * S.steps)
    b = tl.program_id(0) // segments
    first = (tl.program_id(0) - b * segments) * (S.rows * S.steps)
    o = tl.arange(0, S.rows)
    k = tl.program_id(1) * S.bins + tl.arange(0, S.bins)
    good = k < S.K
    old_re = tl.load(table + (2 * BLOCKS + 2) * S.K + k, mask=good, other=0)[None, :]
    old_im = tl.load(table + (2 * BLOCKS + 3) * S.K + k, mask=good, other=0)[None, :]
    turn_re = tl.load(table + (2 * BLOCKS) * S.K + k, mask=good, other=0)[None, :]
    turn_im = tl.load(table + (2 * BLOCKS + 1) * S.K + k, mask=good, other=0)[None, :]
    if S.early:
        tl.extra.cuda.gdc_wait()
    end = length
    if S.lengths:
        end = tl.minimum(end, tl.load(lengths + b))
    row = x + b.to(tl.int64) * stride_x
    oldest = first + (skip + S.shift)  # where chunk 0 starts in the row of bytes
    newest = oldest + o * S.steps
    inside = (oldest >= S.W) & (oldest + S.rows * S.steps <= length) & (not S.lengths)
    # through memory, for the sake of the layout: Triton would keep that of the products
    program = tl.program_id(1) + tl.program_id(0).to(tl.int64) * tl.num_programs(1)
    own = scratch + program * (2 * S.groups * S.rows * S.bins)
    _put_starts(row, taps, turns, own, oldest, end, k, S)
    tl.debug_barrier()
    p_re, p_im, c_re, c_im, s_re, s_im = _read_starts(own, S)
    to = out + (b.to(tl.int64) * R + first) * E + (o * (S.steps * E))[:, None] + k[None, :]
    for block in range(BLOCKS):
        e_re = tl.load(table + (2 * block) * S.K + k, mask=good, other=0)[None, :]
        e_im = tl.load(table + (2 * block + 1) * S.K + k, mask=good, other=0)[None, :]
        # every load of the block stands before its first store, which it must not wait for
        n = block * TURNS
        if inside:
            moves = _moves(row, newest + n, end, True, S)
        else:
            moves = _moves(row, newest + n, end, False, S)
        ramps = ()
        if S.tail:
            for i in tl.static_range(2 * TURNS):
                ramps += (tl.load(ramp + 2 * n + i),)
        for i in tl.static_range(TURNS):
            new = moves[i]
            old = moves[TURNS + i]
            if S.sign == 2:
                old = old * old_re
            if S.sign > 0:
                p_re += (new - old) * e_re
                p_im += (new - old) * e_im
                a_re = (new + old) * e_re
                a_im = (new + old) * e_im
            else:
                a_re, a_im, p_re, p_im = _phased(new, old, e_re, e_im, old_re, old_im, p_re, p_im)
            x_re = p_re
            x_im = p_im
            if S.tail:
                c_re += ramps[2 * i] * a_re
                c_im += ramps[2 * i] * a_im
                s_re += ramps[2 * i + 1] * a_re
                s_im += ramps[2 * i + 1] * a_im
                x_re += ramps[2 * i] * c_re  # one by one: two fused operations, not three
                x_re += ramps[2 * i + 1] * s_re
                x_im += ramps[2 * i] * c_im
                x_im += ramps[2 * i + 1] * s_im
            at = first + o * S.steps + (n + i)
            written = (at < R)[:, None] & good[None, :]
            live = (at + skip < end)[:, None]
            _put(to + (n + i) * E, x_re, x_im, e_re, e_im, written, live, S)
            next_re = e_re * turn_re - e_im * turn_im
            e_im = e_re * turn_im + e_im * turn_re
            e_re = next_re

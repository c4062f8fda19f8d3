"""The sliding form, in Triton alone: cost independent of the window, no tensor cores needed.

Positions are cut into chunks of STEPS. `windows` finds the sums over the window just before each
chunk, from sums over blocks of STEPS bytes; `slide` carries them from position to position. With
d = pi/W, w[m] = (1 + cos(d m))/2, so a "tail" window is three sums with plain exponentials:

    P = sum s[j] e^{iw(j-p)},  C = sum s[j] cos(d(j-p)) e^{iw(j-p)},  S likewise with sin

and the DFT n positions after p is (P + cos(dn) C + sin(dn) S)/2 but for a phase. "rect" has P only.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tritonwin.spectral.kernels import dot_taps, frame_of, select_parts


@triton.jit
def _turned(re, im, turns, at, k, K, GROUPS: tl.constexpr, GROUP, good):
    """(re + i im) e^{iv STEPS at}, v the frequency of the group; `at` one number a row."""
    where = turns + ((at * GROUPS + GROUP) * 2)[:, None] * K + k[None, :]
    cos = tl.load(where, mask=good, other=0)
    sin = tl.load(where + K, mask=good, other=0)
    return re * cos - im * sin, re * sin + im * cos


@triton.jit
def _block_sums(x, taps, turns, base, newest, end, at, k, K, tile, GROUPS: tl.constexpr,
                GROUP, KP: tl.constexpr, SHIFT: tl.constexpr, LIMBS: tl.constexpr,
                COUNT: tl.constexpr, STEPS: tl.constexpr, QP: tl.constexpr,
                BE: tl.constexpr, good):  # fmt: skip
    """Sums over the COUNT newest bytes of blocks, phases counted from one position of the row."""
    zero = tl.zeros((QP, BE), tl.float32)
    frame = frame_of(x, base, newest, end, 0, COUNT, STEPS, SHIFT, STEPS)
    re, im = dot_taps(frame, taps, GROUP * (KP // GROUPS) + tile + tl.arange(0, BE), 0, STEPS, KP,
                      STEPS, LIMBS, zero, zero)  # fmt: skip
    return _turned(re, im, turns, at, k, K, GROUPS, GROUP, good)


@triton.jit
def _window_sums(x, taps, turns, base, newest, end, k, K, tile, GROUPS: tl.constexpr,
                 GROUP, KP: tl.constexpr, SHIFT: tl.constexpr,
                 LIMBS: tl.constexpr, Q: tl.constexpr, REST: tl.constexpr, STEPS: tl.constexpr,
                 QP: tl.constexpr, FEW: tl.constexpr, BE: tl.constexpr, good):  # fmt: skip
    """Of each chunk of a segment: the sum over the Q blocks before it and REST bytes more.

    A FEW blocks are added one by one. Else Q blocks reach over two segments of Q chunks: the end
    of the one before and the start of this one. No sum holds a byte of its chunk or a later one,
    not even for a moment: that would show in the last bits. `turns` begins at -Q.
    """
    o = tl.arange(0, QP)
    if FEW:  # phases are counted from the chunk itself
        sum_re = tl.zeros((QP, BE), tl.float32)
        sum_im = tl.zeros((QP, BE), tl.float32)
        for i in tl.static_range(Q):
            re, im = _block_sums(x, taps, turns, base, newest - (i * STEPS + 1), end,
                                 o * 0 + (Q - i), k, K, tile, GROUPS, GROUP, KP, SHIFT, LIMBS,
                                 STEPS, STEPS, QP, BE, good)  # fmt: skip
            sum_re += re
            sum_im += im
        here = o * 0
    else:
        started = tl.where(o > 0, end, 0)
        re, im = _block_sums(x, taps, turns, base, newest - 1, started, o + Q, k, K, tile, GROUPS,
                             GROUP, KP, SHIFT, LIMBS, STEPS, STEPS, QP, BE, good)  # fmt: skip
        sum_re = tl.cumsum(re, axis=0)
        sum_im = tl.cumsum(im, axis=0)
        re, im = _block_sums(x, taps, turns, base, newest - (Q * STEPS - STEPS + 1), end, o + 1,
                             k, K, tile, GROUPS, GROUP, KP, SHIFT, LIMBS, STEPS, STEPS, QP, BE,
                             good)  # fmt: skip
        sum_re += tl.cumsum(re, axis=0, reverse=True)
        sum_im += tl.cumsum(im, axis=0, reverse=True)
        here = o
    if REST > 0:
        re, im = _block_sums(x, taps, turns, base, newest - (Q * STEPS + 1), end, here, k, K, tile,
                             GROUPS, GROUP, KP, SHIFT, LIMBS, REST, STEPS, QP, BE,
                             good)  # fmt: skip
        sum_re += re
        sum_im += im
    if not FEW:
        sum_re, sum_im = _turned(sum_re, sum_im, turns, Q - o, k, K, GROUPS, GROUP, good)
    return sum_re, sum_im


@triton.jit
def windows(x, taps, turns, state, lengths, length, stride_x, offset, chunks, segments, K,
            KP: tl.constexpr, SHIFT: tl.constexpr, LIMBS: tl.constexpr, GROUPS: tl.constexpr,
            HAS_LENGTHS: tl.constexpr, Q: tl.constexpr, REST: tl.constexpr, STEPS: tl.constexpr,
            QP: tl.constexpr, FEW: tl.constexpr, BE: tl.constexpr):  # fmt: skip
    """`state` (B*chunks, GROUPS, 2, K): sums at w, w+d, w-d one position before each chunk.

    Grid (B*segments, tiles of bins, GROUPS). taps (LIMBS, STEPS, 2 KP): e^{-iv(l+1)} of the lags
    l, for v = w, w+d, w-d; turns (2Q+1, 3, 2, K): e^{iv STEPS r}, r = -Q..Q.
    """
    b = tl.program_id(0) // segments
    o = tl.arange(0, QP)
    rows: tl.constexpr = QP if FEW else Q
    chunk = (tl.program_id(0) - b * segments) * rows + o
    tile = tl.program_id(1) * BE
    k = tile + tl.arange(0, BE)
    end = length
    if HAS_LENGTHS:
        end = tl.minimum(end, tl.load(lengths + b))
    end = tl.where(o < rows, end, 0)
    base = b.to(tl.int64) * stride_x + o * 0
    newest = chunk * STEPS + offset
    good = (o < rows)[:, None] & (k < K)[None, :]
    kept = good & (chunk < chunks)[:, None]
    row = b.to(tl.int64) * chunks + chunk
    to = state + row[:, None] * (2 * GROUPS * K) + k[None, :]
    group = tl.program_id(2)
    re, im = _window_sums(x, taps, turns, base, newest, end, k, K, tile, GROUPS, group, KP, SHIFT,
                          LIMBS, Q, REST, STEPS, QP, FEW, BE, good)  # fmt: skip
    tl.store(to + 2 * group * K, re, mask=kept)
    tl.store(to + (2 * group + 1) * K, im, mask=kept)


@triton.jit
def scaled(x, base, at, end, scale):
    """scale * (2x/255 - 1), 0 outside the row."""
    here = (at >= 0) & (at < end)
    byte = tl.load(x + base + at, mask=here, other=0).to(tl.float32)
    return tl.where(here, byte * (scale * (2.0 / 255.0)) - scale, 0.0)


@triton.jit
def slide(x, state, table, ramp, out, lengths, T, length, stride_x, offset, lead, chunks, K, E,
          scale, W: tl.constexpr, PARTS: tl.constexpr, TAIL: tl.constexpr,
          HAS_LENGTHS: tl.constexpr, REAL: tl.constexpr, EVEN: tl.constexpr,
          STEPS: tl.constexpr, BE: tl.constexpr, TURNS: tl.constexpr):  # fmt: skip
    """One chunk, position after position. Grid (B*chunks, tiles of bins).

    `scale` (g/2, or g for "rect") is in the bytes and in `state`; `table` (STEPS/TURNS + 2, 2, K):
    e^{iwn} at n = 0, TURNS, ..; then e^{iw}; then e^{-iwW}, REAL where it is 1 or -1 (N divides
    2W); `ramp` (STEPS, 2): cos(dn), sin(dn).
    """
    c = tl.program_id(0)
    b = c // chunks
    first = (c - b * chunks) * STEPS
    k = tl.program_id(1) * BE + tl.arange(0, BE)
    good = k < K
    end = length
    if HAS_LENGTHS:
        end = tl.minimum(end, tl.load(lengths + b))
    base = b.to(tl.int64) * stride_x
    groups: tl.constexpr = 3 if TAIL else 1
    at = state + c.to(tl.int64) * (2 * groups * K) + k
    p_re = tl.load(at, mask=good, other=0)
    p_im = tl.load(at + K, mask=good, other=0)
    if TAIL:  # cos = (e^{id} + e^{-id}) / 2, sin = (e^{id} - e^{-id}) / 2i
        more_re = 0.5 * tl.load(at + 2 * K, mask=good, other=0)
        more_im = 0.5 * tl.load(at + 3 * K, mask=good, other=0)
        less_re = 0.5 * tl.load(at + 4 * K, mask=good, other=0)
        less_im = 0.5 * tl.load(at + 5 * K, mask=good, other=0)
        c_re = more_re + less_re
        c_im = more_im + less_im
        s_re = more_im - less_im
        s_im = less_re - more_re
    blocks: tl.constexpr = STEPS // TURNS
    turn_re = tl.load(table + (2 * blocks) * K + k, mask=good, other=0)
    turn_im = tl.load(table + (2 * blocks + 1) * K + k, mask=good, other=0)
    old_re = tl.load(table + (2 * blocks + 2) * K + k, mask=good, other=0)
    old_im = tl.load(table + (2 * blocks + 3) * K + k, mask=good, other=0)
    to = out + (b.to(tl.int64) * T + first) * E + k
    for block in range(blocks):
        e_re = tl.load(table + (2 * block) * K + k, mask=good, other=0)
        e_im = tl.load(table + (2 * block + 1) * K + k, mask=good, other=0)
        # every load of the block stands before its first store, which it must not wait for
        news = ()
        olds = ()
        coses = ()
        sins = ()
        for i in tl.static_range(TURNS):
            newest = first + block * TURNS + i + offset
            news += (scaled(x, base, newest, end, scale),)
            olds += (scaled(x, base, newest - W, end, scale),)
            if TAIL:
                coses += (tl.load(ramp + 2 * (block * TURNS + i)),)
                sins += (tl.load(ramp + 2 * (block * TURNS + i) + 1),)
        for i in tl.static_range(TURNS):
            n = block * TURNS + i
            new = news[i]
            if REAL:
                old = olds[i] * old_re
                p_re += (new - old) * e_re
                p_im += (new - old) * e_im
                a_re = (new + old) * e_re
                a_im = (new + old) * e_im
            else:
                b_re = olds[i] * (e_re * old_re - e_im * old_im)
                b_im = olds[i] * (e_re * old_im + e_im * old_re)
                a_re = new * e_re
                a_im = new * e_im
                p_re += a_re - b_re
                p_im += a_im - b_im
                a_re += b_re
                a_im += b_im
            x_re = p_re
            x_im = p_im
            if TAIL:
                c_re += coses[i] * a_re
                c_im += coses[i] * a_im
                s_re += sins[i] * a_re
                s_im += sins[i] * a_im
                x_re += coses[i] * c_re + sins[i] * s_re
                x_im += coses[i] * c_im + sins[i] * s_im
            if HAS_LENGTHS:
                live = first + n + offset - lead < end
                x_re = tl.where(live, x_re, 0.0)
                x_im = tl.where(live, x_im, 0.0)
            mask = None if EVEN else (first + n < T) & good
            if PARTS == "reim":  # give the phase back
                tl.store(to, (x_re * e_re + x_im * e_im).to(out.dtype.element_ty), mask=mask,
                         cache_modifier=".cs")  # fmt: skip
                tl.store(to + K, (x_im * e_re - x_re * e_im).to(out.dtype.element_ty), mask=mask,
                         cache_modifier=".cs")  # fmt: skip
            else:
                value = select_parts(x_re, x_im, PARTS)
                if HAS_LENGTHS and PARTS == "logmag":
                    value = tl.where(live, value, 0.0)
                tl.store(to, value.to(out.dtype.element_ty), mask=mask, cache_modifier=".cs")
            to += E
            next_re = e_re * turn_re - e_im * turn_im
            e_im = e_re * turn_im + e_im * turn_re
            e_re = next_re

"""The sliding form, in Triton alone: cost independent of the window, no tensor cores needed."""

from __future__ import annotations

import triton
import triton.language as tl

from tritonwin.spectral.kernels import select_parts


@triton.jit
def scaled(x, base, at, end, scale):
    """scale * (2x/255 - 1), 0 outside the row."""
    here = (at >= 0) & (at < end)
    byte = tl.load(x + base + at, mask=here, other=0).to(tl.float32)
    return tl.where(here, byte * (scale * (2.0 / 255.0)) - scale, 0.0)


@triton.jit
def slide(x, state, table, ramp, out, lengths, T, length, stride_x, offset, lead, chunks, K, E,
          scale, W: tl.constexpr, PARTS: tl.constexpr, TAIL: tl.constexpr,
          HAS_LENGTHS: tl.constexpr,
          REAL: tl.constexpr, STEPS: tl.constexpr, BE: tl.constexpr,
          TURNS: tl.constexpr):  # fmt: skip
    """The sliding form: cost independent of W. Grid (B*chunks, tiles of bins).

    Sums over the window, phases counted from the chunk's first position p:
        P = sum s[j] e^{iw(j-p)},  C = sum s[j] cos(d(j-p)) e^{iw(j-p)},  S likewise with sin
    since w[m] = (1 + cos(d m))/2, d = pi/W, the window's DFT is (P + cos(dn) C + sin(dn) S)/2
    but for a phase; `scale` (g/2, or g for "rect") is in the bytes.
    `state` (B*chunks, 2*3K or 2*K) holds the sums one position before the chunk;
    `table` (STEPS/TURNS + 2, 2, K): e^{iwn} at n = 0, TURNS, ..; then e^{iw}; then e^{-iwW};
    `ramp` (STEPS, 2): cos(dn), sin(dn). REAL: e^{-iwW} is 1 or -1 (N divides 2W).
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
    p_im = tl.load(at + groups * K, mask=good, other=0)
    if TAIL:
        c_re = tl.load(at + K, mask=good, other=0)
        s_re = tl.load(at + 2 * K, mask=good, other=0)
        c_im = tl.load(at + 4 * K, mask=good, other=0)
        s_im = tl.load(at + 5 * K, mask=good, other=0)
    blocks: tl.constexpr = STEPS // TURNS
    turn_re = tl.load(table + (2 * blocks) * K + k, mask=good, other=0)
    turn_im = tl.load(table + (2 * blocks + 1) * K + k, mask=good, other=0)
    old_re = tl.load(table + (2 * blocks + 2) * K + k, mask=good, other=0)
    old_im = tl.load(table + (2 * blocks + 3) * K + k, mask=good, other=0)
    to = out + (b.to(tl.int64) * T + first) * E + k
    for block in range(blocks):
        e_re = tl.load(table + (2 * block) * K + k, mask=good, other=0)
        e_im = tl.load(table + (2 * block + 1) * K + k, mask=good, other=0)
        for i in tl.static_range(TURNS):
            n = block * TURNS + i
            newest = first + n + offset
            new = scaled(x, base, newest, end, scale)
            old = scaled(x, base, newest - W, end, scale)
            if REAL:
                signed = old * old_re
                b_re = signed * e_re
                b_im = signed * e_im
            else:
                b_re = old * (e_re * old_re - e_im * old_im)
                b_im = old * (e_re * old_im + e_im * old_re)
            a_re = new * e_re
            a_im = new * e_im
            p_re += a_re - b_re
            p_im += a_im - b_im
            x_re = p_re
            x_im = p_im
            if TAIL:
                cos = tl.load(ramp + 2 * n)
                sin = tl.load(ramp + 2 * n + 1)
                a_re += b_re
                a_im += b_im
                c_re += cos * a_re
                c_im += cos * a_im
                s_re += sin * a_re
                s_im += sin * a_im
                x_re += cos * c_re + sin * s_re
                x_im += cos * c_im + sin * s_im
            mask = (first + n < T) & good
            if HAS_LENGTHS:
                live = newest - lead < end
                x_re = tl.where(live, x_re, 0.0)
                x_im = tl.where(live, x_im, 0.0)
            if PARTS == "reim":  # give the phase back
                tl.store(to, (x_re * e_re + x_im * e_im).to(out.dtype.element_ty), mask=mask)
                tl.store(to + K, (x_im * e_re - x_re * e_im).to(out.dtype.element_ty), mask=mask)
            else:
                value = select_parts(x_re, x_im, PARTS)
                if HAS_LENGTHS and PARTS == "logmag":
                    value = tl.where(newest - lead < end, value, 0.0)
                tl.store(to, value.to(out.dtype.element_ty), mask=mask)
            to += E
            next_re = e_re * turn_re - e_im * turn_im
            e_im = e_re * turn_im + e_im * turn_re
            e_re = next_re

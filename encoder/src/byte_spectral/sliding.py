"""The sliding form, in Triton alone: cost independent of the window, no tensor cores needed.

Positions are cut into chunks of STEPS. `windows.windows` finds the sums over the window just before
each chunk, from sums over blocks of STEPS bytes; `slide` carries them from position to position.
With d = pi/W, w[m] = (1 + cos(d m))/2, so a "tail" window is three sums with plain exponentials:

    P = sum s[j] e^{iw(j-p)},  C = sum s[j] cos(d(j-p)) e^{iw(j-p)},  S likewise with sin

and the DFT n positions after p is (P + cos(dn) C + sin(dn) S)/2 but for a phase. "rect" has P only.

With PDL a launch begins while the one before it ends.
"""

from __future__ import annotations

import triton
import triton.language as tl

from byte_spectral.kernels import select_parts


@triton.jit
def _after(PDL: tl.constexpr):
    """Let the next launch begin, and wait for the one before."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()


@triton.jit
def _selected(re, im, PARTS: tl.constexpr, FTZ: tl.constexpr):
    """`select_parts`; FTZ: by the root that takes denormal numbers for 0."""
    if not FTZ or PARTS == "power":
        return select_parts(re, im, PARTS)
    size = tl.inline_asm_elementwise("sqrt.approx.ftz.f32 $0, $1;", "=f,f", [re * re + im * im],
                                     dtype=tl.float32, is_pure=True, pack=1)  # fmt: skip
    return tl.log(size + 1e-3) if PARTS == "logmag" else size


@triton.jit
def slide(state, moves, table, ramp, out, lengths, T, length, offset, lead, chunks, K, E,
          PARTS: tl.constexpr, TAIL: tl.constexpr, HAS_LENGTHS: tl.constexpr, SIGN: tl.constexpr,
          EVEN: tl.constexpr, STEPS: tl.constexpr, BE: tl.constexpr, TURNS: tl.constexpr,
          FTZ: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """One chunk, position after position. Grid (B*chunks, tiles of bins).

    The scale (g/2, or g for "rect") is in `moves` and in `state`; `table` (STEPS/TURNS + 2, 2, K):
    e^{iwn} at n = 0, TURNS, ..; then e^{iw}; then e^{-iwW}. SIGN: 1 where that is 1 for every bin
    (N divides W), 2 where it is 1 or -1 (N divides 2W), else 0. `ramp` (STEPS, 2): cos(dn) and
    sin(dn).
    """
    _after(PDL)
    c = tl.program_id(0)
    b = c // chunks
    first = (c - b * chunks) * STEPS
    k = tl.program_id(1) * BE + tl.arange(0, BE)
    good = k < K
    end = length
    if HAS_LENGTHS:
        end = tl.minimum(end, tl.load(lengths + b))
    move = moves + c.to(tl.int64) * (2 * STEPS)
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
            news += (tl.load(move + 2 * (block * TURNS + i)),)
            olds += (tl.load(move + 2 * (block * TURNS + i) + 1),)
            if TAIL:
                coses += (tl.load(ramp + 2 * (block * TURNS + i)),)
                sins += (tl.load(ramp + 2 * (block * TURNS + i) + 1),)
        for i in tl.static_range(TURNS):
            n = block * TURNS + i
            new = news[i]
            if SIGN > 0:
                old = olds[i] if SIGN == 1 else olds[i] * old_re
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
                x_re += coses[i] * c_re  # one by one: two fused operations, not three
                x_re += sins[i] * s_re
                x_im += coses[i] * c_im
                x_im += sins[i] * s_im
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
                value = _selected(x_re, x_im, PARTS, FTZ)
                if HAS_LENGTHS and PARTS == "logmag":
                    value = tl.where(live, value, 0.0)
                tl.store(to, value.to(out.dtype.element_ty), mask=mask, cache_modifier=".cs")
            to += E
            next_re = e_re * turn_re - e_im * turn_im
            e_im = e_re * turn_im + e_im * turn_re
            e_re = next_re

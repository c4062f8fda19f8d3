"""The constants of a kernel: one frozen record a launch."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dense:
    """A product of frames and taps, and what follows it.

    Attributes:
        W, K, parts, shift: of the transform.
        rows, bins: taps of a frame and bins, filled up to what tiles divide.
        limbs: fp16 summands of a tap; 0 where taps are fp32.
        scale: log2 of what the bytes are divided by.
        factor: of re and im, see `pack.headroom`.
        lengths: rows end by themselves.
        bm, be, bk: rows, bins and taps of a tile.
        warps, stages: of a program; of the loop over its tiles.
        even, even_rows: whole tiles of bins; of rows.
        width, bd: of a linear layer: columns, and those of a tile.
        bias, table: a row is added to each row of the output; that of the position's byte.
        gated: the table's row is multiplied by the sigmoid of the rest instead.
        chunks, split: on sm_90: tiles of bins of a program, and programs that share the bins.
        regular: on sm_90: see `hopper_frame.frame_of`.
        ordered: on sm_90: columns in the order of accumulators, see `hopper.store_layout`.
        early, cache: on sm_90: whether the next launch may begin, and how the caches keep stores.
        splits: of a gradient: partial sums.
    """

    W: int
    K: int
    parts: str
    shift: int
    rows: int
    bins: int
    limbs: int
    scale: int
    factor: float = 1.0
    lengths: bool = False
    bm: int
    be: int
    bk: int = 0
    warps: int = 4
    stages: int = 1
    even: bool = False
    even_rows: bool = False
    width: int = 0
    bd: int = 0
    bias: bool = False
    table: bool = False
    gated: bool = False
    chunks: int = 1
    split: int = 1
    regular: bool = False
    ordered: bool = False
    early: bool = False
    cache: str = ""
    splits: int = 1

    @property
    def features(self) -> int:
        return 2 * self.K if self.parts == "reim" else self.K


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walk:
    """All that a walk is compiled for.

    Attributes:
        W, K, parts, shift: of the transform.
        tail: three sums; one where False ("rect").
        sign: 1 where e^{-iwW} is 1 for every bin (N divides W), 2 where it is real (N divides 2W),
            else 0.
        steps, rows: positions of a chunk; chunks of a segment; powers of two.
        bins, padded: of a tile; K filled up to whole tiles.
        turns: positions after which the sums are turned.
        limbs, byte_limbs: fp16 summands of an exponential; of a byte times a cosine.
        scale: log2 of what the bytes are divided by for the products.
        gain: factor of the bytes that come and leave.
        lengths, even: rows end by themselves; every position and bin of a tile is written.
        early: `pdl` of the plan.
    """

    W: int
    K: int
    parts: str
    shift: int
    tail: bool
    sign: int
    steps: int
    rows: int
    bins: int
    padded: int
    turns: int
    limbs: int
    byte_limbs: int
    scale: int
    gain: float
    lengths: bool
    even: bool
    early: int

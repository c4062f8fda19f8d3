"""The constants of a kernel: one frozen record a launch."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    """The constants that kernels of every kind are compiled for.

    Attributes:
        W, K, parts, shift: of the transform.
        limbs: fp16 summands of a tap or an exponential; 0 where taps are fp32.
        scale: log2 of what the bytes are divided by for the products.
        lengths: rows end by themselves.
        even: every bin of a tile is written; of a walk every position, too.
        early: whether, and when, the next launch may begin: `pdl` of the plan.
    """

    W: int
    K: int
    parts: str
    shift: int
    limbs: int
    scale: int
    lengths: bool = False
    even: bool = False
    early: int = 0

    @property
    def features(self) -> int:
        return 2 * self.K if self.parts == "reim" else self.K


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dense(Record):
    """A product of frames and taps, and what follows it.

    Attributes:
        rows, bins: taps of a frame and bins, filled up to what tiles divide.
        factor: of re and im, see `pack.headroom`.
        bm, be, bk: rows, bins and taps of a tile.
        warps, stages: of a program; of the loop over its tiles.
        even_rows: whole tiles of rows.
        width, bd: of a linear layer: columns, and those of a tile.
        bias, table: a row is added to each row of the output; that of the position's byte.
        gated: the table's row is multiplied by the sigmoid of the rest instead.
        chunks, split: on sm_90: tiles of bins of a program, and programs that share the bins.
        regular: on sm_90: see `hopper.frame_of`.
        ordered: on sm_90: columns in the order of accumulators, see `hopper.store_layout`.
        cache: on sm_90: how the caches keep stores.
    """

    rows: int
    bins: int
    factor: float = 1.0
    bm: int
    be: int
    bk: int = 0
    warps: int = 4
    stages: int = 1
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
    cache: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walk(Record):
    """A walk.

    Attributes:
        tail: three sums; one where False ("rect").
        sign: 1 where e^{-iwW} is 1 for every bin (N divides W), 2 where it is real (N divides 2W),
            else 0.
        steps, rows: positions of a chunk; chunks of a segment; powers of two.
        bins, padded, lane: of a tile; K filled up to whole tiles; of a thread.
        turns: positions after which the sums are turned.
        byte_limbs: fp16 summands of a byte times a cosine.
        gain: factor of the bytes that come and leave.
        ahead: there are registers for the table while sums are made, and for its products.
    """

    tail: bool
    sign: int
    steps: int
    rows: int
    bins: int
    padded: int
    lane: int
    turns: int
    byte_limbs: int
    gain: float
    ahead: bool = False

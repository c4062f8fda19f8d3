"""The parameters of the transform, checked once, and its shapes."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Literal

Parts = Literal["mag", "logmag", "power", "reim"]
Precision = Literal["exact", "fast"]

PARTS = ("mag", "logmag", "power", "reim")
PRECISIONS = ("exact", "fast")
WINDOWS = ("tail", "rect")
MAX_WINDOW = 4096
LOG_FLOOR = 1e-3  # added before the logarithm


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """One transform.

    X[b,t,k] = g * sum_{m=0}^{W-1} w[m] s[b,t+shift-m] exp(-2 pi i k m / N),  k = 0..K-1

    with s = x/127.5 - 1 inside the row and 0 outside, and g = 1/sqrt(sum w^2).

    Attributes:
        W: window, in bytes, 1..4096.
        K: bins, >= 1.
        N: period of the twiddles; 2K unless given, so that the bins cover 0..pi.
        parts: what is kept of X.
        causal: the newest byte is the position's own; otherwise the window is centred.
        precision: "exact" (error <= 1e-6) or "fast" (<= 2e-4) on tensor cores.
    """

    W: int
    K: int
    N: int
    parts: Parts = "mag"
    causal: bool = True
    precision: Precision = "exact"

    @property
    def text(self) -> str:
        """All of it as words, for operators, whose arguments cannot be records; see `spec_of`."""
        words = (self.W, self.K, self.N, self.parts, int(self.causal), self.precision)
        return " ".join(map(str, words))

    @property
    def features(self) -> int:
        """E, the size of the last axis of the output."""
        return 2 * self.K if self.parts == "reim" else self.K

    @property
    def shift(self) -> int:
        """Bytes after its own that a position sees; the centred frame begins at t-W//2."""
        return 0 if self.causal else (self.W - 1) // 2


def make_spec(
    W: int = 64,
    K: int = 256,
    N: int | None = None,
    parts: str = "mag",
    causal: bool = True,
    precision: str = "exact",
) -> Spec:
    """Check and complete the parameters; raises TypeError or ValueError that names the one."""
    for name, value in (("W", W), ("K", K), ("N", 1 if N is None else N)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not 1 <= W <= MAX_WINDOW:
        raise ValueError(f"W (the window, in bytes) must be 1..{MAX_WINDOW}, not {W}")
    if K < 1:
        raise ValueError(f"K (the number of bins) must be at least 1, not {K}")
    period = 2 * K if N is None else N
    if period < 1 or period > 1 << 24:
        raise ValueError(f"N (the period of the bins) must be 1..{1 << 24}, not {period}")
    if parts not in PARTS:
        raise ValueError(f"parts must be one of {', '.join(PARTS)}, not {parts!r}")
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    if causal not in (True, False):
        raise TypeError(f"causal must be True or False, not {causal!r}")
    return Spec(W=W, K=K, N=period, parts=parts, causal=bool(causal), precision=precision)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=512)
def spec_of(text: str) -> Spec:
    """The inverse of `Spec.text`."""
    W, K, N, parts, causal, precision = text.split()
    return make_spec(int(W), int(K), int(N), parts, causal == "1", precision)


def window_values(window: str, W: int) -> list[float]:
    """w[m], m the lag: 1 for the newest byte. "tail" falls to 0 at the old edge, "rect" is 1."""
    if window == "rect":
        return [1.0] * W
    if window == "tail":
        return [math.cos(math.pi * m / (2 * W)) ** 2 for m in range(W)]
    raise ValueError(
        f"window must be one of {', '.join(WINDOWS)} or a tensor of shape (W,), not {window!r}"
    )

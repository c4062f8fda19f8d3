"""Interchangeable front ends, from bytes to the first layer's input: sound ones and bad examples.

Every front end maps uint8 (B, T) to (B, T, width). `ARMS` names them as the tables of
docs/encoder.md do. An arm with `causal=False` shows a language model the bytes that it is asked to
predict: its loss is no achievement, and building a model with it warns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from byte_spectral.encoder import ByteSpectral

FEATURES = 256


class ByteEmbedding(nn.Module):
    """The plain table of 256 rows that everything else is measured against."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.embedding(x.int())


def one_kernel(width: int) -> ByteSpectral:
    """Embedding and projected magnitudes at once."""
    return ByteSpectral(W=64, K=FEATURES, precision="fast", project=width, embed=True)


class Apart(nn.Module):
    """The function of `one_kernel` of the same parameters, in separate steps."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.features = ByteSpectral(W=64, K=FEATURES, precision="fast")
        self.projection = nn.Linear(FEATURES, width)  # drawn in the order of the one kernel's
        self.embedding = nn.Embedding(256, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.embedding(x.int()) + self.projection(self.features(x))


class CausalConv(nn.Module):
    """A depthwise convolution over each position and those before it: local context, cheaply."""

    def __init__(self, width: int, taps: int = 8) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(taps, width).uniform_(-1, 1) / taps**0.5)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, embedded: Tensor) -> Tensor:
        """Sums of shifted rows, which torch.compile makes one kernel of."""
        found = self.bias.expand_as(embedded)
        for back, weight in enumerate(self.weight):
            found = found + weight * _earlier(embedded, back)
        return found


class HashedGrams(nn.Module):
    """A row for the last 2 to 6 bytes each, by a hash modulo a prime."""

    def __init__(self, width: int, rows: int, std: float = 1.0) -> None:
        super().__init__()
        self.rows = rows
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(2, 7))
        for table in self.tables:
            nn.init.normal_(table.weight, std=std)

    def forward(self, x: Tensor) -> Tensor:
        hashed = byte = x.int() + 1  # 0 stands before the row
        found: list[Tensor] = []
        factor = 1
        for back, table in enumerate(self.tables, start=1):
            factor = factor * 263 % self.rows
            hashed = (hashed + _earlier(byte, back) * factor) % self.rows
            found.append(table(hashed))
        return sum(found[1:], start=found[0])


def _earlier(x: Tensor, back: int) -> Tensor:
    """The value `back` positions earlier along the second axis; 0 before the row."""
    return nn.functional.pad(x, (0, 0) * (x.dim() - 2) + (back, 0))[:, : x.shape[1]]


class Beside(nn.Module):
    """A front end that has an embedding, plus a convolution of that, plus hashed n-grams.

    Args:
        base: builds what is added to.
        conv: whether a convolution is.
        rows: rows of each table of the n-grams, a prime; 0 for none.
        std: of what these begin as. Of 1, 0.3 and 0.05 the arms have the best at one seed.
    """

    def __init__(
        self, width: int, base: Callable[[int], nn.Module] = ByteEmbedding, *,
        conv: bool = False, rows: int = 0, std: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.base = base(width)
        self.conv = CausalConv(width) if conv else None
        self.grams = HashedGrams(width, rows, std) if rows else None

    def forward(self, x: Tensor) -> Tensor:
        found = self.base(x)
        if self.conv is not None:
            found = found + self.conv(self.base.embedding(x.int()))
        return found if self.grams is None else found + self.grams(x)


def normalised(x: Tensor) -> Tensor:
    """x / 127.5 - 1 in float32, shape (B, T)."""
    return (2 * x.float() - 255) / 255


class Whole(nn.Module):
    """The whole row's spectrum at every position, `FEATURES` columns. NOT causal: a bad example.

    The published project computes, for each position p, the FFT of the row rolled by -p. This is
    the FFT of the row times exp(2 pi i k p / T): one FFT a row replaces T of them, magnitudes are
    the same at all positions, and each bin holds every byte of the row, those after p included.

    Args:
        phase: columns [|X| | sin arg X | cos arg X] instead of |X|; sin 0 and cos 1 where X is 0.
    """

    def __init__(self, *, phase: bool) -> None:
        super().__init__()
        self.phase = phase

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        row = torch.fft.rfft(normalised(x))[:, None]
        found = row.abs().expand(-1, length, -1)
        if self.phase:
            position = torch.arange(length, device=x.device)
            turns = torch.outer(position, position[: row.shape[-1]]) % length  # exact: integers
            angle = turns.double() * (2 * torch.pi / length)
            at = row * torch.polar(torch.ones_like(angle), angle).to(row.dtype)
            unit = torch.where(found > 0, at / found.clamp_min(1e-30), 1.0)
            found = torch.cat((found, unit.imag, unit.real), dim=-1)
        found = found[..., :FEATURES] / length**0.5
        return nn.functional.pad(found, (0, FEATURES - found.shape[-1]))


class Pointwise(nn.Module):
    """Something of the bytes, as `columns` equal columns."""

    def __init__(self, function: Callable[[Tensor], Tensor], columns: int) -> None:
        super().__init__()
        self.function = function
        self.columns = columns

    def forward(self, x: Tensor) -> Tensor:
        return self.function(normalised(x))[..., None].expand(-1, -1, self.columns)


def published(signal: Tensor) -> Tensor:
    """The published kernel's result in closed form: |sum of the row|, at every position."""
    return signal.sum(dim=1, keepdim=True).abs().expand_as(signal)


class Mixed(nn.Module):
    """Features followed by a small MLP, or by one linear layer."""

    def __init__(self, features: nn.Module, columns: int, width: int, *, deep: bool = True) -> None:
        super().__init__()
        self.features = features
        self.mix = (
            nn.Sequential(
                nn.Linear(columns, 2 * width),
                nn.LayerNorm(2 * width),
                nn.GELU(),
                nn.Linear(2 * width, width),
            )
            if deep
            else nn.Linear(columns, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(self.features(x))


class Added(nn.Module):
    """The sum of two front ends."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, x: Tensor) -> Tensor:
        return self.first(x) + self.second(x)


def _spectral(
    width: int,
    *,
    parts: str = "mag",
    deep: bool = True,
    causal: bool = True,
    learnable: bool | str = False,
) -> Mixed:
    """The encoder with 256 columns: 256 magnitudes, or 128 bins of [Re | Im]."""
    bins = FEATURES // 2 if parts == "reim" else FEATURES
    window = "tail" if causal else "rect"
    encoder = ByteSpectral(
        W=64, K=bins, parts=parts, window=window, causal=causal, learnable=learnable
    )
    return Mixed(encoder, FEATURES, width, deep=deep)


def _taps(width: int, *, random: bool = False) -> nn.Module:
    front = _spectral(width, parts="reim", learnable="taps")
    if random:
        taps = front.features.taps
        nn.init.normal_(taps, std=taps.detach().square().mean().sqrt().item())
    return front


def _beside_embedding(width: int, build: Callable[[int], nn.Module]) -> nn.Module:
    return Added(ByteEmbedding(width), build(width))


def _pointwise(width: int, function: Callable[[Tensor], Tensor], columns: int) -> nn.Module:
    return Mixed(Pointwise(function, columns), columns, width)


def _whole(width: int, *, phase: bool) -> nn.Module:
    return Mixed(Whole(phase=phase), FEATURES, width)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A front end under the name that the tables use."""

    build: Callable[[int], nn.Module]
    words: str
    causal: bool = True
    apart: str | None = None  # the arm of the same parameters in separate steps


_REIM = partial(_spectral, parts="reim")

ARMS: dict[str, Arm] = {
    "embedding": Arm(build=ByteEmbedding, words="embedding, 256 rows"),
    "mag-linear": Arm(build=partial(_spectral, deep=False), words="mag, Linear"),
    "mag": Arm(build=_spectral, words="mag, MLP"),
    "logmag": Arm(build=partial(_spectral, parts="logmag"), words="logmag, MLP"),
    "reim-linear": Arm(build=partial(_REIM, deep=False), words="re/im of 128 bins, Linear"),
    "reim": Arm(build=_REIM, words="re/im of 128 bins, MLP"),
    "taps": Arm(build=_taps, words="learnable taps from the DFT, MLP"),
    "taps-random": Arm(build=partial(_taps, random=True), words="learnable taps from noise, MLP"),
    "scalar": Arm(build=partial(_pointwise, function=torch.clone, columns=1),
                  words="the byte as one number, MLP"),
    "embedding+mag": Arm(build=partial(_beside_embedding, build=_spectral),
                         words="embedding + mag MLP"),
    "embedding+reim": Arm(build=partial(_beside_embedding, build=_REIM),
                          words="embedding + re/im MLP"),
    "embedding+taps": Arm(build=partial(_beside_embedding, build=_taps),
                          words="embedding + learnable taps MLP"),
    "embedding+conv8": Arm(build=partial(Beside, conv=True),
                           words="embedding + depthwise causal conv, 8 taps"),
    "embedding+ngrams": Arm(build=partial(Beside, rows=199, std=0.3),
                            words="embedding + hashed 2- to 6-grams, 199 rows each"),
    "embedding+ngrams-4099": Arm(build=partial(Beside, rows=4099, std=0.05),
                                 words="embedding + hashed 2- to 6-grams, 4,099 rows each"),
    "embedding+mag-linear": Arm(build=Apart, words="embedding + mag, Linear"),
    "one-kernel": Arm(build=one_kernel, apart="embedding+mag-linear",
                      words="embedding + mag, Linear, in one kernel"),
    "embedding+conv8+ngrams": Arm(build=partial(Beside, conv=True, rows=199, std=0.05),
                                  words="embedding + conv + n-grams"),
    "one-kernel+conv8": Arm(build=partial(Beside, base=one_kernel, conv=True),
                            words="one kernel + conv"),
    "one-kernel+ngrams": Arm(build=partial(Beside, base=one_kernel, rows=199, std=0.3),
                             words="one kernel + n-grams"),
    "one-kernel+conv8+ngrams": Arm(build=partial(Beside, base=one_kernel, conv=True, rows=199,
                                                 std=0.05),
                                   words="one kernel + conv + n-grams"),
    "published": Arm(build=partial(_pointwise, function=published, columns=FEATURES), causal=False,
                     words="the published kernel, literally"),
    "abs-byte": Arm(build=partial(_pointwise, function=torch.abs, columns=FEATURES),
                    words="the published project's later kernel"),
    "global-mag": Arm(build=partial(_whole, phase=False), causal=False,
                      words="magnitudes of the whole row, MLP"),
    "source": Arm(build=partial(_whole, phase=True), causal=False,
                  words="the published project's encoder"),
    "centred-mag": Arm(build=partial(_spectral, causal=False), causal=False,
                       words="mag, centred window, MLP"),
    "centred-reim": Arm(build=partial(_REIM, causal=False), causal=False,
                        words="re/im, centred window, MLP"),
}  # fmt: skip

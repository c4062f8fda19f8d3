"""Triton's speed: programs of the target, one after the other, with empty caches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from tritonwin.verify import ladder
from tritonwin.verify.records import RungResult, load
from tritonwin.verify.setting import ProofSetting

PARTS = load().bench


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One figure of two benchmarks. `ratio` is second / first; None for what is no number."""

    part: str
    figure: str
    first: str | int | float | bool
    second: str | int | float | bool
    ratio: float | None


def measure(setting: ProofSetting, only: Collection[str] = ()) -> Iterator[RungResult]:
    """Run the parts one at a time: each has the machine for itself. `only`: ids of some."""
    chosen = [part for part in PARTS if not only or part.id in only]
    return ladder.climb(replace(setting, workers=1), chosen)


def compare(first: Sequence[RungResult], second: Sequence[RungResult]) -> tuple[Comparison, ...]:
    """The figures that both have, in the order of the first."""
    others = {part.id: part.figures for part in second}
    return tuple(
        Comparison(
            part=part.id,
            figure=name,
            first=value,
            second=others[part.id][name],
            ratio=_ratio(value, others[part.id][name]),
        )
        for part in first
        for name, value in part.figures.items()
        if name in others.get(part.id, {})
    )


def _ratio(first: object, second: object) -> float | None:
    if isinstance(first, (int, float)) and isinstance(second, (int, float)) and first:
        return round(second / first, 4)
    return None

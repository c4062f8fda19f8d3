"""Triton's speed: programs of the target, one after the other, with empty caches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from tritonwin.facts.records import Facts
from tritonwin.verify import ladder
from tritonwin.verify.records import RungResult, load
from tritonwin.verify.setting import ProofSetting, gpu_of

PARTS = load().bench


@dataclass(frozen=True, kw_only=True)
class BenchMachine:
    """The conditions of the figures; no path and no name of a person or machine."""

    os: str  # "windows 10.0.22631", with ", Wine 8.0" where that plays it
    gpu: str | None  # "NVIDIA GeForce RTX 4090"
    capability: str | None  # "8.9"
    driver: str | None
    python: str | None
    triton: str | None  # with its distribution: "3.5.1 (triton-windows 3.5.1.post24)"
    torch: str | None


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Everything measured of one target. Units are the last word of a figure's name."""

    machine: BenchMachine
    when: str  # ISO 8601, UTC
    parts: tuple[RungResult, ...]

    @property
    def measured(self) -> bool:
        return any(part.state == "passed" for part in self.parts)


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


def benchmark(facts: Facts, parts: Sequence[RungResult]) -> Benchmark:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Benchmark(machine=machine(facts), when=now, parts=tuple(parts))


def machine(facts: Facts) -> BenchMachine:
    gpu = gpu_of(facts)
    driver = facts.nvidia_driver
    wine = f", Wine {facts.system.wine}" if facts.system.wine else ""
    return BenchMachine(
        os=f"{facts.system.os} {facts.system.version}{wine}",
        gpu=gpu.name if gpu else None,
        capability=gpu.compute_capability if gpu else None,
        driver=driver.version if driver else None,
        python=facts.target.version if facts.target else None,
        triton=_triton(facts),
        torch=facts.torch.version if facts.torch else None,
    )


def _triton(facts: Facts) -> str | None:
    if facts.triton is None:
        return None
    owner = facts.distribution(facts.triton.distribution or "")
    suffix = f" ({owner.name} {owner.version})" if owner else ""
    return f"{facts.triton.version or 'unknown version'}{suffix}"


def compare(first: Benchmark, second: Benchmark) -> tuple[Comparison, ...]:
    """The figures that both have, in the order of the first."""
    others = {part.id: part.figures for part in second.parts}
    return tuple(
        Comparison(
            part=part.id,
            figure=name,
            first=value,
            second=others[part.id][name],
            ratio=_ratio(value, others[part.id][name]),
        )
        for part in first.parts
        for name, value in part.figures.items()
        if name in others.get(part.id, {})
    )


def _ratio(first: object, second: object) -> float | None:
    if isinstance(first, (int, float)) and isinstance(second, (int, float)) and first:
        return round(second / first, 4)
    return None

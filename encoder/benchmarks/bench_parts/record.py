"""A run of the benchmark: its clock, its sizes, and what it found."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from bench_parts.clock import Clock, Launch, Timing

Shape = tuple[int, int, int, int]  # rows, bytes a row, bins, window
FIRST: Shape = (32, 1024, 256, 64)
LONG: Shape = (8, 8192, 256, 64)
SHAPES: tuple[Shape, ...] = (FIRST, (32, 1024, 256, 128), LONG, (64, 512, 128, 64))
LONGEST_WINDOW: Shape = (8, 2048, 256, 1024)
TINY: Shape = (2, 32, 16, 8)
MODES: dict[str, dict[str, Any]] = {
    "exact fp32": {"precision": "exact", "dtype": torch.float32},
    "fast fp32": {"precision": "fast", "dtype": torch.float32},
    "fast bf16": {"precision": "fast", "dtype": torch.bfloat16},
}
ROUNDS = 3


def by_line(found: dict[str, Any]) -> str:
    """JSON in which each item of a list has a line."""
    parts = [
        f" {json.dumps(key)}: "
        + (
            "[\n" + ",\n".join(f"  {json.dumps(each)}" for each in value) + "\n ]"
            if isinstance(value, list)
            else json.dumps(value)
        )
        for key, value in found.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


@dataclass(kw_only=True)
class Bench:
    """The run: its clock, its sizes, and what it found."""

    clock: Clock
    tiny: bool
    text: bytes
    section: str = ""
    cases: list[dict[str, Any]] = field(default_factory=list)
    goals: list[dict[str, Any]] = field(default_factory=list)

    def shape(self, shape: Shape) -> Shape:
        return TINY if self.tiny else shape

    def inputs(self, shape: Shape, seed: int = 0, count: int = 8) -> list[Tensor]:
        source = torch.Generator(self.clock.device).manual_seed(seed)
        return [
            torch.randint(256, shape[:2], dtype=torch.uint8, device=self.clock.device,
                          generator=source)
            for _ in range(count)
        ]  # fmt: skip

    def case(self, what: str, shape: Shape, timing: Timing, **more: object) -> float:
        self.cases.append({"section": self.section, "what": what, "shape": shape, "us": timing.us,
                           "low": timing.low, "high": timing.high, **more})  # fmt: skip
        return timing.us

    def goal(self, must: str, what: str, value: float, limit: float, *, least: bool) -> None:
        self.goals.append(
            {
                "section": self.section,
                "must": must,
                "what": what,
                "value": value,
                "limit": limit,
                "least": least,
                "met": value >= limit if least else value <= limit,
            }
        )

    def in_turn(
        self, launches: dict[str, Launch], output_bytes: dict[str, int], rounds: int = ROUNDS
    ) -> dict[str, Timing]:
        """Each in every round, so that what the card does meanwhile hits all alike."""
        timings = [
            {k: self.clock.busy(each, output_bytes[k]) for k, each in launches.items()}
            for _ in range(1 if self.tiny else rounds)
        ]
        return {k: _middle([each[k] for each in timings]) for k in launches}


def _middle(timings: list[Timing]) -> Timing:
    return Timing(us=statistics.median(t.us for t in timings), low=min(t.us for t in timings),
                  high=max(t.us for t in timings))  # fmt: skip


def size_of(shape: Shape, dtype: torch.dtype, columns: int | None = None) -> int:
    return shape[0] * shape[1] * (columns or shape[2]) * dtype.itemsize

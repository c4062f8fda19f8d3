"""Proof: rungs of a ladder, each shown by a program that the target runs, or not shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RungState = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One thing to show. It is tried only when the rungs in `needs` have passed."""

    id: str
    title: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RungResult:
    """How a rung ended. `detail`: what was seen, what went wrong, or why it was not tried."""

    id: str
    title: str
    state: RungState
    detail: str
    seconds: float
    traceback: str | None = None


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What was shown of one target, in the order in which it was tried."""

    results: tuple[RungResult, ...]

    @property
    def holds(self) -> bool:
        """Nothing failed and something passed."""
        states = {r.state for r in self.results}
        return "passed" in states and "failed" not in states

    def passed(self) -> frozenset[str]:
        return frozenset(r.id for r in self.results if r.state == "passed")

    def worse_than(self, before: Proof) -> tuple[str, ...]:
        """Rungs that passed before and fail now."""
        failed = {r.id for r in self.results if r.state == "failed"}
        return tuple(r.id for r in before.results if r.id in before.passed() & failed)

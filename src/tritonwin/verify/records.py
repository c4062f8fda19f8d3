"""Proof: rungs of a ladder, each shown by a program that the target runs, or not shown."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from tritonwin.errors import UserError
from tritonwin.system.toml import read_resource

RungState = Literal[
    "passed",
    "failed",
    "crashed",  # the process died: `detail` says of what
    "timed-out",
    "not-applicable",  # this machine cannot do it, or does not claim to
    "not-installed",  # the package is absent, which is no pass
    "skipped",  # a rung that it needs did not pass
]
BROKEN: frozenset[RungState] = frozenset({"failed", "crashed", "timed-out"})
ABSENT: frozenset[RungState] = frozenset({"not-applicable", "not-installed"})

Verdict = Literal[
    "proven",
    "gpu-untried",  # nothing broke, and no rung that needs a GPU was tried
    "not-proven",
]

Figures: TypeAlias = "dict[str, str | int | float | bool]"


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One thing to show. The table of all of them, and what each field means: rungs/ladder.toml."""

    id: str
    title: str
    proves: str
    needs: tuple[str, ...] = ()
    basic: bool = False
    program: str = ""
    part: str = "prove"
    helpers: tuple[str, ...] = ()
    demands: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    limit: float = 300
    compiles: bool = False

    @property
    def of_amd(self) -> bool:
        return any(demand.startswith("amd-") for demand in self.demands)


@dataclass(frozen=True, kw_only=True)
class LadderTable:
    """The contents of `rungs/ladder.toml`, from the ground up."""

    rung: tuple[Rung, ...]
    bench: tuple[Rung, ...]  # parts of `tritonwin bench`


@cache
def load() -> LadderTable:
    return read_resource("tritonwin.verify.rungs", "ladder.toml", LadderTable)


def select(through: str | None = None, only: Collection[str] = ()) -> tuple[Rung, ...]:
    """The ladder up to and with `through`; of it, those named in `only`, if any.

    Raises:
        UserError: there is no rung of that name, or none is left.
    """
    rungs = load().rung
    names = [rung.id for rung in rungs]
    for name in (*only, *([through] if through else [])):
        if name not in names:
            raise UserError(f"there is no rung {name!r}", f"The rungs are: {', '.join(names)}")
    last = names.index(through) if through else len(names) - 1
    found = tuple(rung for rung in rungs[: last + 1] if not only or rung.id in only)
    if not found:
        raise UserError(
            f"nothing of --only lies at or below {through}",
            "Leave out --through, or name other rungs; --list shows the order.",
        )
    return found


@dataclass(frozen=True, kw_only=True)
class RungResult:
    """The result of a rung.

    Attributes:
        detail: what was seen, what went wrong, or why it was not tried.
        problems: ids of the catalogue that explain the failure, the likeliest first.
        figures: what was measured: errors, rates, versions.
    """

    id: str
    title: str
    state: RungState
    detail: str
    seconds: float
    traceback: str | None = None
    proves: str = ""
    problems: tuple[str, ...] = ()
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The results of one target, in the order of the ladder."""

    results: tuple[RungResult, ...]

    @property
    def holds(self) -> bool:
        """Nothing broke and something passed."""
        states = {r.state for r in self.results}
        return "passed" in states and not states & BROKEN

    @property
    def verdict(self) -> Verdict:
        """The answer; where rungs that need a GPU were asked for, it takes one that was tried."""
        of_gpu = {"gpu", "amd-card"}
        need_gpu = {rung.id for rung in load().rung if of_gpu.intersection(rung.demands)}
        states = {r.state for r in self.results if r.id in need_gpu}
        if states and "passed" not in states and not {r.state for r in self.results} & BROKEN:
            return "gpu-untried"
        return "proven" if self.holds else "not-proven"

    def worse_than(self, before: Proof) -> tuple[str, ...]:
        """Rungs that passed before and are broken now."""
        broken = {r.id for r in self.results if r.state in BROKEN}
        return tuple(r.id for r in before.results if r.state == "passed" and r.id in broken)

"""Records of builds that run or have ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tritonwin.build.plan import BuildPlan
from tritonwin.problems.records import Evidence, Problem
from tritonwin.verify.records import BROKEN, RungResult

Ending = Literal["running", "finished", "failed", "out-of-memory", "interrupted"]
StepState = Literal["passed", "failed", "not-applicable"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a running build.

    Attributes:
        done: finished compile and link steps, those of earlier runs included.
        total: of all; None until the builder has said it.
        rate: steps a second in this run; None until one is done.
        remaining: seconds, by the rate so far; None until there is one.
        memory: of the process tree now, in bytes.
        heaviest: the process that holds most of it: "cicc".
    """

    done: int
    total: int | None
    rate: float | None = None
    remaining: float | None = None
    memory: int | None = None
    heaviest: str = ""


Event: TypeAlias = "str | Progress"  # a line at every stage, and the progress of the compilers
OnEvent: TypeAlias = Callable[[Event], None]


@dataclass(frozen=True, kw_only=True)
class BuildRun:
    """One start of the build's command. One that stayed "running" was ended from outside.

    Attributes:
        steps: compile and link steps that it finished.
        total: steps of all runs together, where that became known.
        peak_memory: of all its processes at once, in bytes, as sampled.
        log: the name of its log in the build folder.
    """

    jobs: int
    ending: Ending = "running"
    seconds: float = 0.0
    peak_memory: int = 0
    steps: int = 0
    total: int | None = None
    log: str = ""


@dataclass(frozen=True, kw_only=True)
class BuildState:
    """Every run of a build, oldest first."""

    runs: tuple[BuildRun, ...] = ()

    def jobs(self, planned: int) -> int:
        """Jobs of the next run: fewer than the last, if memory did not suffice."""
        last = self.runs[-1] if self.runs else None
        if last is None:
            return planned
        fewer = max(1, last.jobs // 2) if last.ending == "out-of-memory" else last.jobs
        return min(planned, fewer)


@dataclass(frozen=True, kw_only=True)
class ProofStep:
    """One thing that was tried with a wheel."""

    name: str
    state: StepState
    detail: str


@dataclass(frozen=True, kw_only=True)
class WheelProof:
    """The proof of a wheel.

    Attributes:
        archs: of the machine code and PTX inside it: "9.0", "12.0+PTX".
        rungs: of the ladder; empty where there is no GPU.
    """

    steps: tuple[ProofStep, ...]
    archs: tuple[str, ...] = ()
    rungs: tuple[RungResult, ...] = ()

    @property
    def holds(self) -> bool:
        """Nothing failed."""
        broken = any(r.state in BROKEN for r in self.rungs)
        return not broken and all(step.state != "failed" for step in self.steps)


@dataclass(frozen=True, kw_only=True)
class BuildInfo:
    """The inputs and the proof of a wheel, stored beside it as `<wheel>.build-info.json`.

    Attributes:
        inputs: file -> sha256, or address of a repository -> commit.
        versions: program or distribution -> version.
        runs: oldest first, with their jobs, times and memory.
    """

    schema: Literal["tritonwin.build-info/2"] = "tritonwin.build-info/2"
    wheel: str
    sha256: str
    size: int
    plan: BuildPlan
    inputs: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    runs: tuple[BuildRun, ...] = ()
    proof: WheelProof | None = None


@dataclass(frozen=True, kw_only=True)
class BuildOutcome:
    """The end of a build.

    Attributes:
        log: everything that the last run printed.
        wheel: None: the build failed.
        info: the file beside the wheel.
        problems: what the log of a failure shows.
        suspicious: lines of the log to look at, where it shows no known problem.
    """

    runs: tuple[BuildRun, ...] = ()
    log: str
    wheel: str | None = None
    proof: WheelProof | None = None
    info: str | None = None
    problems: tuple[Problem, ...] = ()
    suspicious: tuple[Evidence, ...] = ()

    @property
    def proven(self) -> bool:
        """There is a wheel, and nothing that was tried with it failed."""
        return self.proof is not None and self.proof.holds

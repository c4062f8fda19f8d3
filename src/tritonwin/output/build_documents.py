"""The documents of `tritonwin build`, as records; see `output.documents`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tritonwin.build.outcome import BuildInfo, Dropped, IndexedWheel, Job
from tritonwin.build.plan import BuildPlan
from tritonwin.output.documents import ToolInfo
from tritonwin.problems.records import Problem
from tritonwin.verify.records import RungResult

BuildStatus = Literal[
    "planned",
    "refused",
    "declined",
    "failed",
    "built",  # and proven as far as this machine can
    "unproven",  # there is a wheel, and something that was tried with it failed
]


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """Output of `tritonwin build --json`: the plan with every reason, and its outcome."""

    schema: Literal["tritonwin.build/2"] = "tritonwin.build/2"
    tool: ToolInfo
    status: BuildStatus
    plan: BuildPlan
    wheel: str | None = None
    info: BuildInfo | None = None
    rungs: tuple[RungResult, ...] = ()  # of the ladder, on the GPU
    log: str | None = None
    problems: tuple[Problem, ...] = ()  # what the log of a failure shows


@dataclass(frozen=True, kw_only=True)
class FleetReport:
    """Output of `tritonwin build --fleet FILE --json`: the jobs, and those left out."""

    schema: Literal["tritonwin.fleet/1"] = "tritonwin.fleet/1"
    tool: ToolInfo
    include: tuple[Job, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, kw_only=True)
class WheelIndex:
    """File of `tritonwin build --index-of DIR`: wheels with their hashes, for `--index`."""

    schema: Literal["tritonwin.wheels/1"] = "tritonwin.wheels/1"
    wheels: tuple[IndexedWheel, ...]

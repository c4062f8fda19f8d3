"""What a build folder remembers between runs: the plan, and how every run of it went."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tritonwin.build.model import BuildPlan
from tritonwin.errors import UserError
from tritonwin.system.codec import DecodeError, from_json, parse, to_json
from tritonwin.system.files import is_file

Ending = Literal["running", "finished", "failed", "out-of-memory", "interrupted"]

_STATE = "state.json"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One start of the build's command. One that stayed "running" was ended from outside.

    Attributes:
        steps: compile and link steps that it finished.
        total: steps of all runs together, where that became known.
        cpu_seconds: of all its processes; None where the system does not say.
        peak_memory: of all its processes at once, in bytes, as sampled.
        offset: where its part of the log begins.
    """

    jobs: int
    ending: Ending = "running"
    seconds: float = 0.0
    cpu_seconds: float | None = None
    peak_memory: int = 0
    steps: int = 0
    total: int | None = None
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class State:
    """Every run of a build, the first first."""

    runs: tuple[Run, ...] = ()

    def jobs(self, planned: int) -> int:
        """How many jobs the next run gets: fewer than the last, if memory did not suffice."""
        last = self.runs[-1] if self.runs else None
        if last is None:
            return planned
        fewer = max(1, last.jobs // 2) if last.ending == "out-of-memory" else last.jobs
        return min(planned, fewer)


def write_plan(plan: BuildPlan) -> None:
    _write(plan.layout.plan, plan)


def read_plan(root: Path) -> BuildPlan:
    """The plan of the build in a folder.

    Raises:
        UserError: there is none, or it is not ours.
    """
    path = root / "plan.json"
    if not is_file(path):
        raise UserError(
            f"no build was begun in {root}",
            "Begin one without --resume, or name its folder: --root DIR",
        )
    try:
        return from_json(BuildPlan, parse(path.read_text("utf-8")))
    except (OSError, ValueError, DecodeError) as error:
        raise UserError(
            f"{path} cannot be used: {error}", "Remove the folder and begin anew without --resume."
        ) from None


def write_state(root: Path, state: State) -> None:
    _write(root / _STATE, state)


def read_state(root: Path) -> State:
    """How the runs went; nothing where that is not known."""
    try:
        return from_json(State, parse((root / _STATE).read_text("utf-8")))
    except (OSError, ValueError, DecodeError):
        return State()


def _write(path: Path, record: BuildPlan | State) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(to_json(record), indent=1), encoding="utf-8")
    part.replace(path)

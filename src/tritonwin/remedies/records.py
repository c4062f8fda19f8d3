"""Records of what happens: events while a plan is made and applied, and results at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tritonwin.problems.records import CheckResult, Problem
from tritonwin.remedies.plan import Plan, Status
from tritonwin.support.wheel_choice import InstallStatus, WheelChoice
from tritonwin.verify.records import RungResult


@dataclass(frozen=True, kw_only=True)
class StepEvent:
    """The next thing that is done."""

    event: Literal["step"] = "step"
    text: str


@dataclass(frozen=True, kw_only=True)
class ProgressEvent:
    """Progress; `total` None: not known."""

    event: Literal["progress"] = "progress"
    done: int
    total: int | None


@dataclass(frozen=True, kw_only=True)
class ChoiceEvent:
    """The wheels that were chosen, with the reasons against the others."""

    event: Literal["choices"] = "choices"
    choices: tuple[WheelChoice, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlanEvent:
    """A plan, before anything of it is done."""

    event: Literal["plan"] = "plan"
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class ProofEvent:
    """The rungs of a proof, as they ended."""

    event: Literal["proof"] = "proof"
    rungs: tuple[RungResult, ...]


GuardState = Literal["on", "off", "switched-on", "switched-off", "unchanged"]

Event: TypeAlias = StepEvent | ProgressEvent | ChoiceEvent | PlanEvent | ProofEvent


@dataclass(frozen=True, kw_only=True)
class FixResult:
    """The result of a fix.

    Attributes:
        journals: the journals that `undo` can undo, in the order in which the changes were made.
        before: the proof before any change; empty: none was tried.
        proof: the proof after the last change.
        problems: those that remain.
        crashed: checks that could not be run, whose problems may be there all the same.
        snapshot: a file with redacted facts for a bug report, where not all could be solved.
    """

    status: Status
    plans: tuple[Plan, ...] = ()
    journals: tuple[str, ...] = ()
    before: tuple[RungResult, ...] = ()
    proof: tuple[RungResult, ...] = ()
    problems: tuple[Problem, ...] = ()
    crashed: tuple[CheckResult, ...] = ()
    snapshot: str | None = None

    @property
    def good(self) -> bool:
        """True where nothing is left to do, or nothing was to be done."""
        clean = not self.problems and not self.crashed
        return clean and self.status in {"healthy", "proven", "planned"}


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    """The import of a module by the target; `error`: how it failed."""

    module: str
    error: str | None


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The result of an installation."""

    status: InstallStatus
    choices: tuple[WheelChoice, ...]
    notes: tuple[str, ...] = ()
    plan: Plan
    journal: str | None = None
    imports: tuple[ImportResult, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GuardOutcome:
    """The state of a Python's guard after the command.

    Attributes:
        kept: versions by distribution.
        drifted: the versions of those that differ from it; None: it is not there.
        files: the files that hold it.
        missing: files that would hold it and do not, where others do.
        left: settings of pip or uv that hold constraints of their own, and stay as they are.
        changed: files that were written or deleted.
        overruled: variables of this session that pip follows instead.
        uv: the value of UV_CONSTRAINT with which uv keeps the set as well.
    """

    status: GuardState
    kept: dict[str, str]
    drifted: dict[str, str | None]
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    overruled: tuple[str, ...] = ()
    uv: str | None = None


@dataclass(frozen=True, kw_only=True)
class Clearing:
    """The entries that `cache clear` takes away.

    Attributes:
        left: what lies in a cache and has not the form of an entry.
        journal: what `undo` restores it by; None: nothing was changed.
    """

    plan: Plan
    left: tuple[str, ...] = ()
    journal: str | None = None

    @property
    def removes(self) -> tuple[str, ...]:
        return tuple(path for change in self.plan.changes for path in change.removes)

"""The JSON documents that commands print with `--json`, as records.

A document's first field, `schema`, names its kind and its version; the version changes only when
something is taken away or changes its meaning, not when something is added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tritonwin import __version__
from tritonwin.facts.dlls.loading import Loading
from tritonwin.facts.dlls.tree import Fault
from tritonwin.facts.records import Cache, PythonKind
from tritonwin.journal import Conflict
from tritonwin.journal.model import Header
from tritonwin.journal.undo import UndoReport
from tritonwin.patch.engine import Flavour
from tritonwin.patch.records import (
    FileRefusal,
    FileReport,
    HookReport,
    Misfit,
    PatchStatus,
    RuleReport,
)
from tritonwin.problems.cache_state import JudgedEntry
from tritonwin.problems.records import CheckResult, Evidence, Problem
from tritonwin.remedies.fix import FixResult
from tritonwin.remedies.install import Installation
from tritonwin.remedies.plan import Plan
from tritonwin.support.matrix import Matrix
from tritonwin.support.wheel_choice import Kept, WheelChoice
from tritonwin.verify.bench import BenchMachine, Benchmark, Comparison
from tritonwin.verify.model import Rung, RungResult


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Who made the document."""

    name: str = "tritonwin"
    version: str = __version__


@dataclass(frozen=True, kw_only=True)
class Target:
    """The Python that was examined; its facts may come from a snapshot."""

    executable: str
    version: str | None = None  # "3.12.9"
    kind: PythonKind = "unknown"
    reason: str | None = None  # why it was chosen: "--python", "beside the current folder"
    snapshot: str | None = None  # the file that was examined in place of a machine


@dataclass(frozen=True, kw_only=True)
class DoctorReport:
    """What `tritonwin doctor --json` prints: root causes first, then every check."""

    schema: Literal["tritonwin.doctor/1"] = "tritonwin.doctor/1"
    tool: Tool
    target: Target | None
    problems: tuple[Problem, ...]
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, kw_only=True)
class CheckName:
    """A check that doctor knows."""

    id: str
    title: str


@dataclass(frozen=True, kw_only=True)
class CheckList:
    """What `tritonwin doctor --list-checks --json` prints."""

    schema: Literal["tritonwin.checks/1"] = "tritonwin.checks/1"
    checks: tuple[CheckName, ...]


@dataclass(frozen=True, kw_only=True)
class ExplainReport:
    """What `tritonwin explain --json` prints: the root cause first, with the lines that show it."""

    schema: Literal["tritonwin.explain/1"] = "tritonwin.explain/1"
    tool: Tool
    log: str | None  # the file; None: standard input
    snapshot: str | None = None
    lines: int
    problems: tuple[Problem, ...]
    known: tuple[Evidence, ...] = ()  # what the log says about the machine
    suspicious: tuple[Evidence, ...] = ()  # where to look, if no problem is known
    checks: tuple[CheckResult, ...] = ()  # always empty: a log is not checked


@dataclass(frozen=True, kw_only=True)
class VerifyReport:
    """What `tritonwin verify --json` prints: every rung that was reached, from the ground up."""

    schema: Literal["tritonwin.verify/1"] = "tritonwin.verify/1"
    tool: Tool
    target: Target | None
    arch: int  # what kernels were compiled for: 89
    proven: bool
    rungs: tuple[RungResult, ...]
    machine: dict[str, str] = field(default_factory=dict)  # "GPU": "NVIDIA H100 (9.0)"
    when: str | None = None  # ISO 8601, UTC
    complete: bool = True  # False in a report that is written while rungs are still tried


@dataclass(frozen=True, kw_only=True)
class RungList:
    """What `tritonwin verify --list --json` prints."""

    schema: Literal["tritonwin.rungs/1"] = "tritonwin.rungs/1"
    rungs: tuple[Rung, ...]


@dataclass(frozen=True, kw_only=True)
class _OfTarget:
    schema: str
    tool: Tool
    target: Target | None


@dataclass(frozen=True, kw_only=True)
class FixReport(FixResult, _OfTarget):
    """What `tritonwin fix --json` prints: the plan of every round, how it ended, what remains."""

    schema: Literal["tritonwin.fix/2"] = "tritonwin.fix/2"


@dataclass(frozen=True, kw_only=True)
class UndoDocument:
    """What `tritonwin undo --json` prints: what was given back, or what is in the way."""

    schema: Literal["tritonwin.undo/1"] = "tritonwin.undo/1"
    tool: Tool
    undo: UndoReport
    also: tuple[UndoReport, ...] = ()  # the earlier rounds of the same fix, the newest first


@dataclass(frozen=True, kw_only=True)
class JournalList:
    """What `tritonwin undo --list --json` prints, the newest first."""

    schema: Literal["tritonwin.journals/1"] = "tritonwin.journals/1"
    tool: Tool
    journals: tuple[Header, ...]


@dataclass(frozen=True, kw_only=True)
class InstallReport(Installation, _OfTarget):
    """What `tritonwin install --json` prints: every choice with its reasons, and the plan."""

    schema: Literal["tritonwin.install/2"] = "tritonwin.install/2"


EventKind: TypeAlias = Literal["step", "progress", "choices", "plan", "agreed", "proof", "outcome"]


@dataclass(frozen=True, kw_only=True)
class EventLine:
    """One line of `--json-lines`; which fields it has depends on `event`."""

    schema: Literal["tritonwin.event/2"] = "tritonwin.event/2"
    event: EventKind
    seconds: float  # since the command began
    text: str | None = None
    done: int | None = None  # bytes of a download, or steps of a build
    total: int | None = None
    choices: tuple[WheelChoice, ...] = ()
    kept: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()
    plan: Plan | None = None
    rungs: tuple[RungResult, ...] = ()
    outcome: FixReport | InstallReport | None = None


@dataclass(frozen=True, kw_only=True)
class MatrixReport:
    """What `tritonwin matrix --json` prints."""

    schema: Literal["tritonwin.matrix/1"] = "tritonwin.matrix/1"
    tool: Tool
    matrix: Matrix


@dataclass(frozen=True, kw_only=True)
class CacheReport:
    """What `tritonwin cache list|clear --json` prints: every entry and how it stands."""

    schema: Literal["tritonwin.cache/1"] = "tritonwin.cache/1"
    tool: Tool
    target: Target | None
    caches: tuple[Cache, ...]
    entries: tuple[JudgedEntry, ...]
    cleared: tuple[str, ...] = ()  # entries that were taken away, or with --dry-run would be
    left: tuple[str, ...] = ()  # what is there and has not the form of an entry
    journal: str | None = None  # what `tritonwin undo` gives them back by


@dataclass(frozen=True, kw_only=True)
class BenchReport:
    """What `tritonwin bench --json` prints, and `bench --compare` reads."""

    schema: Literal["tritonwin.bench/1"] = "tritonwin.bench/1"
    tool: Tool
    benchmark: Benchmark


@dataclass(frozen=True, kw_only=True)
class BenchComparison:
    """What `tritonwin bench --compare A B --json` prints."""

    schema: Literal["tritonwin.bench-comparison/1"] = "tritonwin.bench-comparison/1"
    tool: Tool
    first: BenchMachine
    second: BenchMachine
    figures: tuple[Comparison, ...]


@dataclass(frozen=True, kw_only=True)
class DllsReport:
    """What `tritonwin dlls --json` prints: the tree, and what keeps the file from being loaded."""

    schema: Literal["tritonwin.dlls/1"] = "tritonwin.dlls/1"
    tool: Tool
    loads: bool
    faults: tuple[Fault, ...]
    loading: Loading


@dataclass(frozen=True, kw_only=True)
class PatchReport:
    """What `tritonwin patch status|diff|apply|revert --json` prints.

    `rules` and `files` are how they stand after the command; `changed` is what it changed, or with
    diff what apply would change.
    """

    schema: Literal["tritonwin.patch/1"] = "tritonwin.patch/1"
    tool: Tool
    target: Target | None  # None: --triton named the folder
    package: str
    flavour: Flavour
    version: str | None  # of Triton, as its __init__.py says
    status: PatchStatus
    rules: tuple[RuleReport, ...]
    files: tuple[FileReport, ...]
    changed: tuple[str, ...] = ()
    refused: tuple[FileRefusal, ...] = ()
    conflicts: tuple[Conflict, ...] = ()  # with diff and revert: changed by others since
    skipped: tuple[Misfit, ...] = ()  # rules that --allow-unknown could not apply
    unverified: tuple[str, ...] = ()  # changed files that no known release holds
    hook: HookReport | None = None
    journal: str | None = None
    diff: str | None = None
    notes: tuple[str, ...] = ()

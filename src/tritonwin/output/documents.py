"""The JSON documents that commands print with `--json`, as records: one object each.

A document's first field, `schema`, names its kind and its version; the version changes only when
something is taken away or changes its meaning, not when something is added.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from tritonwin import __version__
from tritonwin.facts.records import Interpreter, PythonKind
from tritonwin.problems.records import CheckResult, Diagnosis, Evidence, Explanation, Problem
from tritonwin.system.codec import to_json
from tritonwin.verify.records import Rung, RungResult, Verdict


@dataclass(frozen=True, kw_only=True)
class ToolInfo:
    """The program that made the document."""

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
class Document:
    """The beginning of a document."""

    schema: str
    tool: ToolInfo = ToolInfo()


@dataclass(frozen=True, kw_only=True)
class ErrorText:
    """The reason why a command ended, and what to do about it."""

    message: str
    help: str


@dataclass(frozen=True, kw_only=True)
class ErrorReport(Document):
    """The document of a command that failed, or whose input cannot be used."""

    schema: Literal["tritonwin.error/1"] = "tritonwin.error/1"
    error: ErrorText


@dataclass(frozen=True, kw_only=True)
class TargetDocument(Document):
    """The beginning of a document on one Python; the outcome's record gives the rest."""

    target: Target | None


@dataclass(frozen=True, kw_only=True)
class DoctorReport(Diagnosis, TargetDocument):
    """The document of `tritonwin doctor`: root causes first, then every check."""

    schema: Literal["tritonwin.doctor/1"] = "tritonwin.doctor/1"


@dataclass(frozen=True, kw_only=True)
class ExplainReport(Document):
    """The document of `tritonwin explain`: the root cause first, with the lines that show it."""

    schema: Literal["tritonwin.explain/1"] = "tritonwin.explain/1"
    log: str | None  # the file; None: standard input
    snapshot: str | None = None
    lines: int
    problems: tuple[Problem, ...]
    known: tuple[Evidence, ...] = ()  # what the log says about the machine
    suspicious: tuple[Evidence, ...] = ()  # where to look, if no problem is known
    checks: tuple[CheckResult, ...] = ()  # always empty: a log is not checked


@dataclass(frozen=True, kw_only=True)
class VerifyReport(TargetDocument):
    """The document of `tritonwin verify`: every rung that was reached, from the ground up."""

    schema: Literal["tritonwin.verify/1"] = "tritonwin.verify/1"
    arch: int  # what kernels were compiled for: 89
    chip: str | None = None  # and of AMD: "gfx1100"
    proven: bool
    verdict: Verdict
    rungs: tuple[RungResult, ...]
    ladder: int = 0  # how many rungs there are
    machine: dict[str, str] = field(default_factory=dict)  # "GPU": "NVIDIA H100 (9.0)"
    when: str | None = None  # ISO 8601, UTC

    @property
    def built_for(self) -> str:
        return f"sm_{self.arch}" + (f", {self.chip}" if self.chip else "")


@dataclass(frozen=True, kw_only=True)
class SnapshotWritten(Document):
    """The document of `tritonwin snapshot`: where the snapshot is."""

    schema: Literal["tritonwin.snapshot-written/1"] = "tritonwin.snapshot-written/1"
    path: str


@dataclass(frozen=True, kw_only=True)
class RungList(Document):
    """The document of `tritonwin verify --list`."""

    schema: Literal["tritonwin.rungs/1"] = "tritonwin.rungs/1"
    rungs: tuple[Rung, ...]


def print_document(document: object) -> None:
    json.dump(to_json(document), sys.stdout, indent=2)
    sys.stdout.write("\n")


Report = TypeVar("Report", bound=TargetDocument)


def outcome_report(
    kind: type[Report], target: Interpreter | None, outcome: object, snapshot: Path | None = None
) -> Report:
    """The document of a command whose fields are those of its outcome."""
    return kind(target=target_of(target, snapshot), **vars(outcome))


def target_of(found: Interpreter | None, snapshot: Path | None = None) -> Target | None:
    if found is None:
        return None
    return Target(
        executable=found.executable,
        version=found.version,
        kind=found.kind,
        reason=found.source,
        snapshot=str(snapshot) if snapshot else None,
    )


def explain_report(
    explanation: Explanation, log: Path | None, snapshot: Path | None
) -> ExplainReport:
    return ExplainReport(
        log=str(log) if log else None,
        snapshot=str(snapshot) if snapshot else None,
        lines=explanation.lines,
        problems=explanation.problems,
        known=explanation.known,
        suspicious=explanation.suspicious,
    )

"""The JSON documents that commands print with `--json`, as records.

A document's first field, `schema`, names its kind and its version; the version changes only when
something is taken away or changes its meaning, not when something is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tritonwin import __version__
from tritonwin.facts.model import PythonKind
from tritonwin.problems.model import CheckResult, Evidence, Problem
from tritonwin.verify.model import RungResult


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
    arch: int  # what the kernel was compiled for: 89
    proven: bool
    rungs: tuple[RungResult, ...]

"""Records of a diagnosis: problems with their evidence and remedy, and how every check ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tritonwin.facts.records import Facts

Severity = Literal["error", "warning", "info"]
Certainty = Literal["certain", "likely", "possible"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
CERTAINTIES: tuple[Certainty, ...] = ("certain", "likely", "possible")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A sentence that names the file, variable or version, and where it was read."""

    text: str
    where: str


@dataclass(frozen=True, kw_only=True)
class Action:
    """A remedy of `tritonwin fix`, by name, with arguments taken from facts."""

    name: str
    arguments: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Remedy:
    summary: str
    commands: tuple[str, ...] = ()
    automatic: bool = False


@dataclass(frozen=True, kw_only=True)
class Question:
    """It would decide between causes that a log cannot tell apart."""

    text: str
    command: str  # its output is the answer


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of a check or of a signature; problems/advice.py puts it into words."""

    id: str
    evidence: tuple[Evidence, ...]
    certainty: Certainty = "certain"
    severity: Severity | None = None  # where the case is milder or graver than the entry's
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A finding in words, as doctor and explain report it."""

    id: str
    severity: Severity
    certainty: Certainty
    title: str
    cause: str
    evidence: tuple[Evidence, ...]
    remedy: Remedy
    explains: tuple[str, ...] = ()  # ids found as well that this one makes moot
    references: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    question: Question | None = None  # what would decide; None where it is certain


CheckState = Literal["ok", "info", "warning", "problem", "not-applicable", "crashed"]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One line of doctor: a check and its outcome."""

    id: str
    title: str
    state: CheckState
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Problems, the most fundamental first, and how every check ended."""

    problems: tuple[Problem, ...]
    checks: tuple[CheckResult, ...]

    @property
    def healthy(self) -> bool:
        """Nothing worse than information was found, and every check could be run."""
        found = any(p.severity != "info" for p in self.problems)
        return not found and not self.crashed

    @property
    def crashed(self) -> tuple[CheckResult, ...]:
        """Checks that failed themselves: their problem may be there."""
        return tuple(check for check in self.checks if check.state == "crashed")


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The result of reading a log.

    Attributes:
        problems: the root cause first, what it explains folded into it.
        known: what the log says about the machine, with the lines that say it.
        suspicious: where to look when no problem is known: first error, last exception.
        facts: the machine as the log, and the snapshot if any, describe it at the log's end.
        lines: how many lines were read.
    """

    problems: tuple[Problem, ...]
    known: tuple[Evidence, ...]
    suspicious: tuple[Evidence, ...]
    facts: Facts
    lines: int

    @property
    def healthy(self) -> bool:
        """Nothing worse than information was recognised."""
        return all(p.severity == "info" for p in self.problems)

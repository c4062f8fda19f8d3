"""Problems: what is wrong, how sure we are, why we think so, and what helps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]
Certainty = Literal["certain", "likely", "possible"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
CERTAINTIES: tuple[Certainty, ...] = ("certain", "likely", "possible")

# From the ground up: what a layer rests on comes before it, so the first layer with a problem
# of the gravest severity holds the root cause.
LAYERS = (
    "machine",
    "driver",
    "interpreter",
    "environment",
    "packages",
    "binaries",
    "headers",
    "compiler",
    "cuda",
    "gpu",
    "cache",
    "runtime",
    "build",
)


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
class LinePattern:
    """What is looked for in one line of a log.

    Attributes:
        anchors: literals, one of which must stand in the line; the fast search is made of them.
        line: a regular expression for the whole normalised line; None: an anchor is enough.
    """

    anchors: tuple[str, ...]
    line: str | None = None


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One thing that must be known of the machine: its value, or a range of versions."""

    fact: str  # a name of catalogue/signatures.py: VERSIONS and WORDS
    allowed: tuple[str, ...]  # any of these


@dataclass(frozen=True, kw_only=True)
class Signature:
    """How a problem shows in a log. The format of the files: catalogue/signatures.py."""

    pattern: LinePattern
    certainty: Certainty
    before: tuple[LinePattern, ...] = ()
    near: bool = False  # what is before belongs to the same failure: it stands close to the line
    after: tuple[LinePattern, ...] = ()
    without: tuple[LinePattern, ...] = ()
    when: tuple[Condition, ...] = ()
    unknown: Certainty | None = None  # where a fact of `when` is not known; None: no finding


@dataclass(frozen=True, kw_only=True)
class Question:
    """What would decide between causes that a log cannot tell apart."""

    text: str
    command: str  # its output is the answer


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One problem of the catalogue: the single text for both doors, facts and logs.

    `cause`, `remedy` and `actions` may hold `{placeholders}`; a finding supplies their values.
    """

    id: str
    title: str
    severity: Severity
    layer: str
    cause: str
    remedy: Remedy
    explains: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    log_only: str | None = None  # why facts cannot show it
    signatures: tuple[Signature, ...] = ()
    question: Question | None = None  # asked where it is not certain that this is the problem


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a check or a signature saw. The catalogue turns it into a Problem."""

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
    """One line of doctor: what was looked at and how it stands."""

    id: str
    title: str
    state: CheckState
    detail: str = ""

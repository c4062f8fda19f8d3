"""The catalogue of problems: one text an id, for what facts show and for what logs say.

    [[problem]]
    id = "old-setuptools"      # scripts and searches rely on it: it stays
    title = "setuptools is older than this Python"  # no full stop, no placeholder
    severity = "error"         # or "warning"; "info": it breaks nothing
    layer = "packages"         # its subject, one of LAYERS
    row = "torch"              # of doctor's summary, where it is not that of the layer
    cause = '''...'''          # two to four sentences, with {placeholders} (general.toml)
    values = { package = "x" } # placeholders that a finding may lack
    explains = ["other-id"]    # problems that are moot where this one is certain
    references = ["https://..."]
    check.title = "..."        # the good state, which holds where the check finds nothing
    check.when = { torch = ["<2.6"] }  # instead of a function: the facts that are the problem
    check.place = "torch"      # the one of them whose place in the machine is shown
    check.seen = "..."         # the evidence, with {torch} and the other facts of `when`
    check.compiling = true     # and what else CheckTerms holds
    log_only = "..."           # instead of a check: why facts cannot show it

    [problem.remedy]           # the general one
    summary = '''...'''        # the remedy in words
    commands = ['{python} -m pip install -U "setuptools"']  # left out where a value is not known
    question = { text = "...", command = "..." }  # where the remedy hangs on the answer

    [[problem.remedies]]       # shown instead where its condition holds; the first of them counts
    when = { gpu = ["<7"] }    # as for a signature
    summary = "..."            # and cause, commands, actions, question

    [[problem.actions]]        # the same for `fix`: a kind of change of remedies/
    name = "install-distribution"
    arguments = { requirement = "setuptools" }

    [problem.question]         # for the user to answer where a log leaves it open
    text = "..."
    command = "..."

    [[problem.signatures]]     # how the problem shows in a log
    anchors = ["LNK1181"]      # one of these literals must stand in the line
    line = '''LNK1181.*'(?P<path>[^']{1,260})' '''
    certainty = "certain"      # only where the line, with the conditions, proves it
    before = ["msvc-banner"]   # each in an earlier line; a mark's name or { anchors, line }
    near = true                # those of `before` stand close, as in the same traceback
    owner = "xformers|nunchaku"  # the package of the last frame before the line; it fills {package}
    after = []                 # each in a later line
    without = []               # none of them anywhere
    when = { torch = ["<2.6"], python_kind = ["embedded", "venv"] }
    unknown = "possible"       # the certainty where a fact of `when` is not known
    values = { package = "x" } # placeholders that this text decides, besides its groups

`line` is searched in the normalised line (explain/lines.py): no escapes, no prefixes, single
backslashes, plain quotes. Its groups that bear the name of a placeholder fill the entry's words.
An anchor is case-sensitive and begins where a word begins. A line is looked at where all words of
one stand, so there should be a rare one: an error number, an identifier, a file name.

general.toml holds the placeholders, the questions that supply their values, and advice for cards
of other makers. marks.toml holds `[marks.NAME]`, patterns that several signatures share, and
`[words]`, pieces of regular expressions, such as Windows' word for "module" in ten languages:
`(?P>NAME)` in a `line` stands for one, also in another word.

Nothing is checked when the catalogue is loaded: tests/unit/test_catalogue.py does it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from tritonwin.facts.records import PythonKind
from tritonwin.problems.records import Action, Certainty, Question, Severity
from tritonwin.system.toml import read_resource

Layer = Literal[
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
]
# From the ground up: a layer comes before those that rest on it, so the first layer with a
# problem of the gravest severity holds the root cause.
LAYERS: tuple[Layer, ...] = get_args(Layer)
Row = Literal[
    "Windows", "driver", "Python", "torch", "Triton", "packages", "compiler", "caches", "builds"
]
ABSENT = "absent"  # a version: known not to be installed
_WORD = re.compile(r"\(\?P>(\w+)\)")  # as PCRE calls a named part of an expression


@dataclass(frozen=True, kw_only=True)
class LinePattern:
    """A pattern for one line of a log.

    Attributes:
        anchors: literals, one of which must stand in the line; the fast search is made of them.
        line: a regular expression for the whole normalised line; None: an anchor is enough.
    """

    anchors: tuple[str, ...]
    line: str | None = None


@dataclass(frozen=True, kw_only=True)
class When:
    """Conditions on facts. Each names the values that it allows; an empty one is not set.

    Versions are ranges (">=2.6,<2.9"), or ABSENT.
    """

    torch: tuple[str, ...] = ()
    triton: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()  # compute capability
    vendor: tuple[Literal["nvidia", "amd", "intel"], ...] = ()  # of the first GPU
    # ZLUDA, or whether AMD publishes torch for the chip of the card
    amd: tuple[Literal["zluda", "served", "integrated", "older"], ...] = ()
    msvc: tuple[str, ...] = ()
    driver: tuple[str, ...] = ()
    setuptools: tuple[str, ...] = ()
    bitsandbytes: tuple[str, ...] = ()
    sageattention: tuple[str, ...] = ()
    xformers: tuple[str, ...] = ()
    os: tuple[Literal["windows", "linux", "other"], ...] = ()
    windows: tuple[str, ...] = ()
    long_paths: tuple[Literal["on", "off"], ...] = ()
    smart_app_control: tuple[Literal["on", "off", "evaluation"], ...] = ()
    python_kind: tuple[PythonKind, ...] = ()
    torch_build: tuple[Literal["cpu", "cuda", "rocm", "xpu"], ...] = ()
    machine: tuple[Literal["amd64", "arm64"], ...] = ()  # what Python is made for
    # pip's environment against the one that runs
    pip_target: tuple[Literal["same", "other"], ...] = ()

    def conditions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The facts that are named, each with its values."""
        return tuple((fact, allowed) for fact, allowed in vars(self).items() if allowed)


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A remedy before its texts are filled, for those whose facts meet the condition."""

    summary: str
    when: When = When()
    cause: str | None = None  # instead of the entry's
    commands: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()  # for the general remedy those of the entry count
    question: Question | None = None
    of: tuple[Literal["triton", "torch"], ...] = ()  # of `instead` alone: what it replaces


@dataclass(frozen=True, kw_only=True)
class LogSignature(LinePattern):
    """The traces of a problem in a log; marks are named."""

    certainty: Certainty
    before: tuple[str | LinePattern, ...] = ()
    near: bool = False
    owner: str | None = None  # an expression for the whole name of the package
    after: tuple[str | LinePattern, ...] = ()
    without: tuple[str | LinePattern, ...] = ()
    when: When = When()
    unknown: Certainty | None = None  # None: no finding
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CheckTerms:
    """The terms of a problem's check.

    Attributes:
        title: the good state, which holds when nothing is found ("torch is built for CUDA").
        windows_only: the problem cannot exist on other systems.
        compiling: it concerns the C compiler that Triton starts, and nothing else.
        of_versions: how certain it is at best from versions in a log; None: it needs more.
        severity: of its findings, where that is usually not the entry's.
        certainty: of its findings, usually.
        when: the facts that are the problem, instead of a function of `checks`.
        place: the fact of `when`, or of the system, whose place is shown with the evidence.
        seen: the evidence, with facts of `when` as placeholders.
    """

    title: str
    windows_only: bool = True
    compiling: bool = False
    of_versions: Certainty | None = None
    severity: Severity | None = None
    certainty: Certainty = "certain"
    when: When | None = None
    place: str = ""
    seen: str = ""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One problem of the catalogue. Its texts may hold `{placeholders}`."""

    id: str
    title: str
    severity: Severity
    layer: Layer
    row: Row | None = None
    cause: str
    remedy: Advice
    remedies: tuple[Advice, ...] = ()
    explains: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    check: CheckTerms | None = None
    log_only: str | None = None
    signatures: tuple[LogSignature, ...] = ()
    question: Question | None = None
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CatalogueFile:
    """The content of one file of the catalogue."""

    problem: tuple[Entry, ...] = ()
    words: dict[str, str] = field(default_factory=dict)
    marks: dict[str, LinePattern] = field(default_factory=dict)
    placeholders: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Question] = field(default_factory=dict)
    instead: dict[str, Advice] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)  # there is one, and results made from it are cached by it
class Catalogue:
    """All entries by id, those that others rest on first (the order of LAYERS)."""

    entries: Mapping[str, Entry]
    checks: Mapping[str, CheckTerms]
    words: Mapping[str, str]
    marks: Mapping[str, LinePattern]
    placeholders: Mapping[str, str]
    asked: Mapping[str, Question]
    instead: Mapping[str, Advice]

    def entry(self, problem_id: str) -> Entry:
        return self.entries[problem_id]

    def pattern(self, pattern: str | LinePattern) -> LinePattern:
        """The pattern itself, or the mark of that name."""
        return self.marks[pattern] if isinstance(pattern, str) else pattern

    def expression(self, line: str) -> str:
        """A regular expression with the words that it names spelled out."""
        return _WORD.sub(lambda named: f"(?:{self.expression(self.words[named[1]])})", line)


@cache
def load() -> Catalogue:
    """The catalogue that comes with the package."""
    names = sorted(f.name for f in files(__name__).iterdir() if f.name.endswith(".toml"))
    found = [read_resource(__name__, name, CatalogueFile) for name in names]
    entries = sorted((e for f in found for e in f.problem), key=lambda e: LAYERS.index(e.layer))

    def merged(part: str) -> dict[str, Any]:
        return {name: each for file in found for name, each in getattr(file, part).items()}

    parts = ("words", "marks", "placeholders", "asked", "instead")
    return Catalogue(
        entries={entry.id: entry for entry in entries},
        checks={entry.id: entry.check for entry in entries if entry.check},
        **{part: merged(part) for part in parts},
    )

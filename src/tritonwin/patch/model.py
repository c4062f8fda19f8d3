"""The records of the patch: what a rule is, and how it stands in the files of a Triton.

This module, `edits`, `engine`, `rules` and `payload` are valid on Python 3.9 and use the standard
library alone: the import hook carries them into a target. Hence no `kw_only` here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tritonwin.patch.edits import Source

RuleState = Literal[
    "needed",  # the defect is there, in a form that the rule can edit
    "applied",  # by tritonwin: the marker is there
    "fixed-upstream",  # the place is there and works on Windows
    "fixed-by-fork",  # the same, in triton-windows
    "not-applicable",  # this Triton has no such place
    "unknown",  # the place is there in a form that the rule does not know
]
Flavour = Literal["fork", "upstream"]
Need = Literal[
    "jit",  # no kernel compiles or launches without it
    "robust",  # fails in some situations, or misleads
    "tools",  # outside compiling and launching kernels
]

PatchStatus = Literal["examined", "planned", "applied", "reverted", "nothing", "refused"]


@dataclass(frozen=True)
class Rule:
    """One defect of Triton's sources on Windows, and the edit that removes it.

    Attributes:
        id: also its marker in the edited text, see `marker`.
        defect: its short name in the tables of docs/patch.
        file: relative to the package folder, with slashes.
        backend: which GPUs it is about; None: all.
        why: what goes wrong on Windows and what the edit does instead.
        removes: the error as the user sees it.
        edit: the edited text; raises `edits.NoEdit` where there is nothing to edit, and why.
            Pure. Other systems keep the behaviour they had.
        covers: other defects that the same edit removes.
    """

    id: str
    defect: str
    file: str
    need: Need
    why: str
    removes: str
    edit: Callable[[Source], str]
    backend: Literal["nvidia", "amd"] | None = None
    covers: tuple[str, ...] = ()

    @property
    def marker(self) -> str:
        """What stands in a comment of each place that the rule edited."""
        return f"tritonwin:{self.id}"


@dataclass(frozen=True)
class RuleReport:
    """How one rule stands in one Triton."""

    id: str
    defect: str
    need: Need
    file: str
    state: RuleState
    reason: str  # why it stands so, in words


@dataclass(frozen=True)
class FileReport:
    """One source file that rules are about.

    Attributes:
        known: the releases that hold exactly this content ("3.6.0", "triton-windows 3.5.1.post24").
            Empty: a future version, or somebody's edits.
        ours: tritonwin wrote this content, from a known one.
    """

    file: str
    sha256: str  # of the bytes on disk
    known: tuple[str, ...]
    ours: bool = False


@dataclass(frozen=True)
class Report:
    """How all rules stand in one Triton, in the order in which they are applied."""

    package: str
    flavour: Flavour
    version: str | None
    rules: tuple[RuleReport, ...]
    files: tuple[FileReport, ...]

    def of(self, *states: RuleState) -> tuple[RuleReport, ...]:
        return tuple(rule for rule in self.rules if rule.state in states)

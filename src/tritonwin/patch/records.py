"""The records of `patch`: states of rules, planned edits, results of commands.

Records alone, so that `output` imports no rule.
"""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tritonwin.facts.history import PatchedFile
from tritonwin.journal import Conflict
from tritonwin.patch.engine import Flavour, Need, RuleChoice, RuleState

PatchStatus = Literal["examined", "planned", "applied", "reverted", "nothing", "refused"]


@dataclass(frozen=True)
class RuleReport:
    """The state of one rule in one Triton."""

    id: str
    defect: str
    need: Need
    file: str
    state: RuleState
    reason: str  # why it stands so, in words


@dataclass(frozen=True, kw_only=True)
class Report:
    """The state of all rules in one Triton, in the order in which they are applied."""

    package: str
    flavour: Flavour
    version: str | None  # of Triton, as its __init__.py says
    rules: tuple[RuleReport, ...]

    def of(self, *states: RuleState) -> tuple[RuleReport, ...]:
        return tuple(rule for rule in self.rules if rule.state in states)


@dataclass(frozen=True, kw_only=True)
class FileEdit:
    """One file, what it holds and what it becomes.

    Attributes:
        path: below the package. A build in place links its folders in, and what such a link
            names is changed; a link in the place of the file itself (to a cache) is replaced.
        before, after: all bytes, in the same line ends and with the same byte order mark.
        rules: ids of those applied.
        known: the content that is edited is that of a release, or tritonwin's.
    """

    file: str
    path: Path
    before: bytes
    after: bytes
    rules: tuple[str, ...]
    known: bool

    @property
    def hashes(self) -> PatchedFile:
        return PatchedFile(
            file=self.file,
            before=hashlib.sha256(self.before).hexdigest(),
            after=hashlib.sha256(self.after).hexdigest(),
            rules=self.rules,
        )

    def diff(self) -> str:
        old, new = (
            data.decode("utf-8-sig").replace("\r\n", "\n").splitlines(keepends=True)
            for data in (self.before, self.after)
        )
        lines = difflib.unified_diff(old, new, f"a/{self.file}", f"b/{self.file}")
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@dataclass(frozen=True, kw_only=True)
class FileRefusal:
    """A file that is not touched, from three sides.

    Attributes:
        released: what is known of its content as released.
        left: as tritonwin left it, where it did; a SHA-256.
        found: as it is; a SHA-256.
        fits: the rules that could be applied all the same, with --allow-unknown.
        misfits: by rule the reason why the place that it is about has an unknown form.
    """

    file: str
    reason: str
    released: str
    left: str | None
    found: str | None
    fits: tuple[str, ...]
    misfits: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class PatchPlan:
    """The edits of a package, byte for byte, or the reasons to write nothing."""

    package: Path
    version: str | None  # of Triton
    edits: tuple[FileEdit, ...]
    refused: tuple[FileRefusal, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)  # left out of files that are edited

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(rule for edit in self.edits for rule in edit.rules)

    def diff(self) -> str:
        return "".join(edit.diff() for edit in self.edits)


@dataclass(frozen=True, kw_only=True)
class Hook:
    """An import hook that lies in a target.

    Attributes:
        choice: the rules that it applies; None: none.
        driver: it carries the driver in Python.
        starts: the `.pth` that starts it is there.
        damaged: it is not whole; nothing is known of its contents.
        current: this tritonwin would write the same.
    """

    folder: str
    choice: RuleChoice | None = None
    driver: bool = False
    starts: bool
    damaged: bool = False
    current: bool = False


@dataclass(frozen=True, kw_only=True)
class PatchOutcome(Report):
    """The result of a command, and the state of the rules after it.

    Attributes:
        changed: files that were changed, or with diff would be.
        conflicts: what somebody changed since, so that nothing was restored.
        skipped: rules that --allow-unknown could not apply, with the reasons.
        unverified: changed files that no known release holds.
        diff: of the planned edits, unified.
    """

    status: PatchStatus
    changed: tuple[str, ...] = ()
    refused: tuple[FileRefusal, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    unverified: tuple[str, ...] = ()
    hook: Hook | None = None
    journal: str | None = None
    diff: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def hooked(self) -> bool:
        """The import hook applies what is needed."""
        return self.hook is not None and self.hook.starts and not self.hook.damaged

    @property
    def blocked(self) -> bool:
        """Something is missing without which no kernel compiles or launches."""
        missing = self.of("needed", "unknown")
        return not self.hooked and any(rule.need == "jit" for rule in missing)

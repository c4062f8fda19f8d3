"""The plan: what would be changed, why, from where; the very object that is shown and applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tritonwin import __version__
from tritonwin.errors import UserError
from tritonwin.facts.model import Facts, Interpreter

# how a fix ends
Status = Literal[
    "healthy",  # nothing to do
    "planned",  # a dry run
    "declined",
    "proven",
    "stuck",  # problems remain, or a rung fails
    "undone",  # what was done made it worse
]


class CannotRemedyError(UserError):
    """A remedy that cannot be planned here; the message says why, `help` what a person can do."""


def target_to_change(facts: Facts) -> Interpreter:
    """The target. Raises CannotRemedyError where there is none."""
    if facts.target is None:
        raise CannotRemedyError(
            "no target interpreter", "Name a Python: --python EXE, or --app DIR."
        )
    return facts.target


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file or folder that a change takes something from: one content, named by its hash.

    `location` is an absolute path or an https address; `sha256` is set for everything fetched.
    """

    name: str  # "triton-windows", "headers"
    version: str = ""
    location: str
    sha256: str | None = None
    size: int | None = None  # bytes, where the source says it


@dataclass(frozen=True, kw_only=True)
class Change:
    """One remedy with everything that its apply needs: nothing is looked up a second time.

    Attributes:
        action: the remedy's name in the catalogue.
        problems: ids of the problems that it is to solve.
        removes: files and folders that go.
        note: what a person has to know or do besides.
    """

    action: str
    arguments: dict[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    what: str
    why: str
    sources: tuple[Source, ...] = ()
    removes: tuple[str, ...] = ()
    admin: bool = False
    reversible: bool = True
    note: str | None = None

    @property
    def network(self) -> bool:
        """Whether something is fetched from another machine."""
        return any("://" in s.location and not s.location.startswith("file:") for s in self.sources)

    @property
    def size(self) -> int | None:
        """Bytes of all sources; None where one does not say."""
        sizes = [s.size for s in self.sources]
        return None if None in sizes else sum(size or 0 for size in sizes)


@dataclass(frozen=True, kw_only=True)
class Unsolved:
    """A problem that the plan leaves, and what a person can do about it."""

    problem: str
    reason: str
    help: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Changes in the order in which they are made."""

    schema: Literal["tritonwin.plan/1"] = "tritonwin.plan/1"
    tool_version: str = __version__
    target: str  # the interpreter
    changes: tuple[Change, ...] = ()
    unsolved: tuple[Unsolved, ...] = ()

    def title(self) -> str:
        """One line for lists of what was done."""
        return "; ".join(change.what for change in self.changes) or "nothing"

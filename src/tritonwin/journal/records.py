"""The records of a journal on disk: `journal.json` (the header) and the lines of `steps.jsonl`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tritonwin.system.registry import RegistryValue

State = Literal[
    "open",  # being applied, or cut off in the middle
    "applied",
    "half",  # its undo began and did not end
    "undone",
]


@dataclass(frozen=True, kw_only=True)
class Header:
    """The subject of a journal, and how far it is.

    Attributes:
        target: the interpreter or folder that is changed, as it was named.
        place: the same in the spelling of the file system, see `store.resolved`.
        sequence: the order of journals; the clock may be set back.
        lines, check: how many lines of `steps.jsonl` there were at least, and the check of the last
            of these; see `log`.
    """

    schema: Literal["tritonwin.journal/3"] = "tritonwin.journal/3"
    id: str  # "261128-003015-041526"
    sequence: int
    tool_version: str
    target: str
    place: str
    title: str  # one line for people: "install triton-windows 3.5.1.post24"
    started: str  # ISO 8601, UTC
    state: State
    session: str | None = None  # the first journal of the same fix: undone together
    lines: int = 1
    check: str = ""


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A journal whose header cannot be read; nobody knows what it changed."""

    id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Start:
    """The first line: where it is missing, the list is not whole."""

    op: Literal["start"] = "start"
    id: str


@dataclass(frozen=True, kw_only=True)
class Move:
    """A file or folder gets another name on the same volume. All files are changed by this.

    A deletion moves into an area of the journal, a new file is written there and moved out.

    Attributes:
        put: the listing of what the journal puts into place, see `tree.listing_text`.
        stamp: of what it moves away: the hash of its listing by size and time.
    """

    op: Literal["move"] = "move"
    n: int
    source: str
    destination: str
    put: str | None = None
    stamp: str | None = None


@dataclass(frozen=True, kw_only=True)
class MakeFolder:
    """A new folder; one of the journal's own name is not part of the target, see `store`."""

    op: Literal["make-folder"] = "make-folder"
    n: int
    path: str


@dataclass(frozen=True, kw_only=True)
class SetValue:
    """A registry value; None: there is none."""

    op: Literal["set-value"] = "set-value"
    n: int
    key: str
    name: str
    old: RegistryValue | None
    new: RegistryValue | None


Step: TypeAlias = Move | MakeFolder | SetValue


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The fate of step `n`. A step followed by another one is done, unless marked failed.

    "split": its undo moves a folder file by file, since a program has something in it loaded or
    others have changed something in it.
    """

    op: Literal["mark"] = "mark"
    n: int
    state: Literal["failed", "split", "undone"]


Entry: TypeAlias = Step | Mark | Start  # one line of `steps.jsonl`, without its check

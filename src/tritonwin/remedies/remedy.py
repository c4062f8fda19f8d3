"""What a remedy is: a plan from facts, and its application through the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tritonwin.facts.model import Facts, Interpreter
from tritonwin.journal import Journal
from tritonwin.remedies.plan import Change, Source, target_to_change
from tritonwin.support import download
from tritonwin.support.pip import Pip
from tritonwin.support.sources import Sources
from tritonwin.system.host import Host


@dataclass(frozen=True, kw_only=True)
class Means:
    """What planning may draw on, besides reading the disk.

    Attributes:
        sources: gives the places where wheels are looked for; it may have to ask pip.
        offline: nothing may be fetched.
        headers: a folder or zip with Python's headers that the user named.
        machine_wide: the user agrees to changes for all users of the machine.
        pip: gives the pip that runs in the target; raises CannotRemedyError where there is none.
    """

    facts: Facts
    host: Host
    pip: Callable[[], Pip]
    sources: Callable[[], Sources]
    offline: bool = False
    headers: Path | None = None
    machine_wide: bool = False

    @property
    def target(self) -> Interpreter:
        return target_to_change(self.facts)


class Listener(Protocol):
    """Who is told how the work goes on."""

    def say(self, text: str) -> None:
        """What is done next, in a line."""

    def progress(self, done: int, total: int | None) -> None:
        """So many bytes of so many have come; None: nobody knows of how many."""


class Deaf:
    """A listener for work that nobody watches."""

    def say(self, text: str) -> None:
        del text

    def progress(self, done: int, total: int | None) -> None:
        del done, total


DEAF = Deaf()


@dataclass(frozen=True, kw_only=True)
class Work:
    """What applying works with.

    Attributes:
        staged: the folder that pip has laid out all wheels of the plan in, as if it were the
            target's prefix; None where the plan has none.
        scratch: an empty folder for files that are fetched.
        listener: told what happens, for whoever watches.
    """

    journal: Journal
    target: Interpreter
    scratch: Path
    staged: Path | None = None
    listener: Listener = DEAF

    def fetch(self, source: Source, to: Path) -> None:
        """Download a source of the plan to the file `to`; raises DownloadError."""
        self.listener.say(f"fetching {source.location}")
        download.fetch(
            source.location,
            to,
            sha256=source.sha256 or "",
            progress=lambda done: self.listener.progress(done, source.size),
        )


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One action of the catalogue.

    Attributes:
        plan: pure but for reading; raises CannotRemedyError. `problems` and `why` of the change
            are filled in by the planner. None: planned together with others of its kind.
        apply: changes the target through the journal alone; raises UserError.
        rank: place in a plan: what others rest on comes first.
    """

    plan: Callable[[Mapping[str, str], Means], Change] | None
    apply: Callable[[Change, Work], None]
    rank: int

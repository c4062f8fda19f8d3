"""The means of planning and of applying."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.journal import Journal
from tritonwin.remedies.plan import CannotRemedyError, target_to_change
from tritonwin.remedies.records import Event, ProgressEvent, StepEvent
from tritonwin.support import download
from tritonwin.support.addresses import local_path
from tritonwin.support.archives import unpack_folder
from tritonwin.support.pip import Pip
from tritonwin.support.sources import Sources
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.files import is_folder
from tritonwin.system.host import Host

if TYPE_CHECKING:
    from tritonwin.remedies.build_wheel import Prepared


OnEvent: TypeAlias = Callable[[Event], None]
Agree: TypeAlias = Callable[[str], bool]


def ignore(event: Event) -> None:
    """For work that nobody watches."""
    del event


def no_pip() -> Pip:
    """For a plan that installs nothing."""
    raise CannotRemedyError("this change needs no pip")


@dataclass(frozen=True, kw_only=True)
class PlanContext:
    """The means of planning, besides reading the disk.

    Attributes:
        pip: finds the pip that runs in the target; raises CannotRemedyError where there is none.
        sources: the places where wheels are looked for; it may have to ask pip.
        offline: nothing may be fetched.
        headers: a folder or zip with Python's headers that the user named.
        machine_wide: the user agrees to changes for all users of the machine.
        builds: planned builds by the hash of their plans, for the apply in the same process.
    """

    facts: Facts
    host: Host
    pip: Callable[[], Pip]
    sources: Callable[[], Sources]
    offline: bool = False
    headers: Path | None = None
    machine_wide: bool = False
    builds: dict[str, Prepared] = field(default_factory=dict)

    @property
    def target(self) -> Interpreter:
        return target_to_change(self.facts)


@dataclass(frozen=True, kw_only=True)
class ApplyContext:
    """The means of applying.

    Attributes:
        scratch: an empty folder for files that are fetched.
        staged: the folder that pip has laid out the wheels of the plan in, as if it were the
            target's prefix; None where the plan has none.
        builds: see PlanContext.
    """

    journal: Journal
    target: Interpreter
    scratch: Path
    pip: Callable[[], Pip]
    staged: Path | None = None
    builds: Mapping[str, Prepared] = field(default_factory=dict)
    on_event: OnEvent = ignore

    def say(self, text: str) -> None:
        self.on_event(StepEvent(text=text))

    def progress(self, done: int, total: int | None) -> None:
        self.on_event(ProgressEvent(done=done, total=total))

    def content(self, source: FileSource) -> Path:
        """The folder with the content of a source of the plan, which may be a zip of anywhere.

        Raises:
            DownloadError, ArchiveError: it cannot be fetched or unpacked.
        """
        path = local_path(source.location)
        if path is None:
            self.say(f"fetching {source.location}")
            path = self.scratch / "fetched"
            download.fetch(
                source.location,
                path,
                sha256=source.sha256 or "",
                progress=lambda done: self.progress(done, source.size),
            )
        if is_folder(path):
            return path
        folder = self.scratch / source.name
        unpack_folder(path, "", folder)
        return folder

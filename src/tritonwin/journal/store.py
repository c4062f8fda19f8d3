"""Where journals are kept: below the user's data folder, never in a target."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.journal.areas import area_name
from tritonwin.journal.disk import discard, replace_text
from tritonwin.journal.lock import TargetBusyError, locked
from tritonwin.journal.log import RESERVE, Log
from tritonwin.journal.model import Area, Header, State
from tritonwin.journal.refusal import JournalError
from tritonwin.system.codec import DecodeError, Json, from_json, parse, to_json
from tritonwin.system.data_folder import data_folder
from tritonwin.system.files import names_in, same_place
from tritonwin.system.host import Environment

HEADER = "journal.json"
STEPS = "steps.jsonl"
PLAN = "plan.json"


@dataclass(frozen=True)
class Store:
    """The folder of all journals of one user."""

    root: Path

    @classmethod
    def default(cls) -> Store:
        """The folder `journal` of tritonwin's own data."""
        return cls(data_folder(Environment(dict(os.environ))) / "journal")

    def folder(self, identifier: str) -> Path:
        return self.root / identifier

    def lock(self, target: str, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the target alone; wait at most `wait` seconds for another tritonwin to finish.

        Raises:
            TargetBusyError: another one is at work on it.
        """
        key = hashlib.sha256(same_place(Path(target)).encode("utf-8", "surrogatepass"))
        return locked(self.root / "locks" / f"{key.hexdigest()[:32]}.lock", target, wait)

    def is_busy(self, target: str) -> bool:
        """Whether a tritonwin is at work on the target right now (this process included)."""
        try:
            with self.lock(target):
                return False
        except TargetBusyError:
            return True

    def journals(self, target: str | None = None) -> tuple[Header, ...]:
        """The headers of all journals, or of one target, oldest first.

        A folder that holds no header was given up before anything was changed.
        """
        found = (self._read(name) for name in names_in(self.root))
        headers = tuple(header for header in found if header is not None)
        if target is None:
            return headers
        place = same_place(Path(target))
        return tuple(h for h in headers if same_place(Path(h.target)) == place)

    def unfinished(self, target: str | None = None) -> tuple[Header, ...]:
        """Journals that were cut off in the middle of being applied or undone, newest first.

        Ask while holding the target's lock: otherwise one that is at work now is among them.
        """
        return tuple(h for h in self.journals(target)[::-1] if h.state in {"open", "half"})

    def latest(self, target: str | None = None) -> Header | None:
        """The newest journal that is not undone."""
        return next((h for h in self.journals(target)[::-1] if h.state != "undone"), None)

    def session(self, header: Header) -> tuple[Header, ...]:
        """The journals of the same fix that are not undone, the newest first."""
        first = header.session or header.id
        same = (h for h in self.journals(header.target)[::-1] if (h.session or h.id) == first)
        return tuple(h for h in same if h.state != "undone")

    def header(self, identifier: str) -> Header:
        """Raises JournalError: no journal of that name."""
        known = {h.id: h for h in self.journals()}
        if identifier not in known:
            raise JournalError(
                f"there is no journal {identifier}", "List them: tritonwin undo --list"
            )
        return known[identifier]

    def log(self, identifier: str) -> Log:
        return Log.read(self.folder(identifier) / STEPS)

    def plan(self, identifier: str) -> Json:
        """The plan that the journal carried out, as it was given; None where there was none."""
        try:
            return parse((self.folder(identifier) / PLAN).read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None

    def areas(self, identifier: str, log: Log) -> tuple[Path, ...]:
        """The folders that the journal keeps things in, its own first.

        Whatever the log says: what is to be deleted is a folder of this journal's name.
        """
        others = (Path(step.path) for step in log.steps if isinstance(step, Area))
        ours = (path for path in others if path.name == area_name(identifier))
        return (self.folder(identifier) / "area", *ours)

    def write_header(self, header: Header) -> None:
        """Raises OSError."""
        text = json.dumps(to_json(header), indent=2)
        replace_text(self.folder(header.id) / HEADER, text + "\n")

    def set_state(self, header: Header, state: State) -> Header:
        """Write down how the journal stands now, also where the disk is full. Raises OSError."""
        changed = replace(header, state=state)
        try:
            self.write_header(changed)
        except OSError:
            if not discard(self.folder(header.id) / RESERVE):
                raise
            self.write_header(changed)
        return changed

    def forget(self, identifier: str) -> tuple[Path, ...]:
        """Delete a journal and what it kept: it cannot be undone any more.

        Returns what could not be deleted, since a program has it loaded.
        """
        header = self.header(identifier)
        log = self.log(identifier)
        left = [area for area in self.areas(identifier, log) if not discard(area)]
        if not left and not discard(self.folder(header.id)):
            left.append(self.folder(header.id))
        return tuple(left)

    def later(self, header: Header) -> Header | None:
        """The newest journal of the same target that came after this one and is not undone."""
        newest = self.latest(header.target)
        return newest if newest is not None and newest.id > header.id else None

    def clear_staged(self, header: Header, log: Log) -> None:
        """Delete what was laid out for a journal that is applied and was not used."""
        for area in self.areas(header.id, log):
            discard(area / "staged")
            with contextlib.suppress(OSError):
                area.rmdir()  # of use only where something is kept in it

    def sweep(self) -> None:
        """Delete what earlier journals had to leave: a program had it loaded, or was killed."""
        for header in self.journals():
            log = self.log(header.id)
            if header.state == "applied":
                self.clear_staged(header, log)
            elif header.state == "undone":
                for area in self.areas(header.id, log):
                    discard(area)

    def _read(self, name: str) -> Header | None:
        file = self.root / name / HEADER
        try:
            header = from_json(Header, parse(file.read_text("utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, DecodeError, ValueError) as error:
            raise JournalError(
                f"{file} cannot be read: {error}",
                "A newer tritonwin may have written it; update this one.",
            ) from None
        return header if header.id == name else None

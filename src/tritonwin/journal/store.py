"""The folder of all journals, below the user's data folder, and the folders of each.

A rename does not lead to another volume, so a journal has an area on each that it changes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.journal.disk import (
    JournalError,
    content,
    discard,
    in_words,
    refusal,
    rename,
    replace_text,
)
from tritonwin.journal.log import RESERVE, DamagedLogError, Log
from tritonwin.journal.records import Header, MakeFolder, State, Unreadable
from tritonwin.system.access import hold, nearest_existing
from tritonwin.system.codec import DecodeError, Json, from_json, parse, to_json
from tritonwin.system.files import is_file, names_in, read_bytes
from tritonwin.system.host import DATA_VARIABLE, Environment, data_folder

HEADER = "journal.json"
STEPS = "steps.jsonl"
PLAN = "plan.json"
_VENV = "pyvenv.cfg"


def resolved(target: str) -> str:
    """The identity of a target: its path in the spelling of the file system.

    The folder of an environment for each interpreter in it: `python` and `python3` of a virtual
    environment are one, and so are those of two links to it. On POSIX an interpreter outside of an
    environment is its own file: /usr/bin holds several that have nothing to do with each other.
    """
    path = Path(target)
    folder = Path(os.path.realpath(path.parent))
    environment = next((f for f in (folder, folder.parent) if is_file(f / _VENV)), None)
    if environment is not None:
        return os.path.normcase(environment)
    real = Path(os.path.realpath(path))
    if os.name == "nt" and path.suffix.lower() == ".exe":
        real = folder
    return os.path.normcase(real)


def same_target(place: str, other: str) -> bool:
    """True where two resolved targets are one, also through two drive letters or mounts."""
    if place == other:
        return True
    try:
        return Path(place).samefile(other)
    except OSError:
        return False


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
        place = resolved(target)
        try:
            status = Path(place).stat()
            name = f"{status.st_dev}:{status.st_ino}"
        except OSError:
            name = place
        key = hashlib.sha256(name.encode("utf-8", "surrogatepass"))
        return locked(self.root / "locks" / f"{key.hexdigest()[:32]}.lock", target, wait)

    def journals(self, target: str | None = None) -> tuple[Header, ...]:
        """The headers of all journals that can be read, or of one target, oldest first.

        A folder that holds no header was given up before anything was changed.
        """
        headers = sorted(
            (each for each in self._all() if isinstance(each, Header)),
            key=lambda header: (header.sequence, header.id),
        )
        if target is None:
            return tuple(headers)
        place = resolved(target)
        return tuple(header for header in headers if same_target(header.place, place))

    def _of_place(self, header: Header) -> tuple[Header, ...]:
        """The journals of the same target, which may be gone, that are not undone; newest first."""
        every = (h for h in self.journals()[::-1] if h.state != "undone")
        return tuple(h for h in every if same_target(h.place, header.place))

    def unreadable(self) -> tuple[Unreadable, ...]:
        """The journals whose headers cannot be read."""
        return tuple(each for each in self._all() if isinstance(each, Unreadable))

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
        return tuple(h for h in self._of_place(header) if (h.session or h.id) == first)

    def header(self, identifier: str) -> Header:
        """Raises JournalError: no journal of that name, or one that cannot be read."""
        found = self._read(identifier) if identifier in names_in(self.root) else None
        if found is None:
            raise JournalError(
                f"there is no journal {identifier}", "List them: tritonwin undo --list"
            )
        if isinstance(found, Unreadable):
            raise JournalError(
                found.reason,
                f"What was replaced is kept in {self.folder(identifier)}; to give it up: "
                f"tritonwin undo --forget {identifier}",
            )
        return found

    def log(self, header: Header) -> Log:
        """Raises DamagedLogError where the list of steps is not whole."""
        path = self.folder(header.id) / STEPS
        log = Log.read(path, header.id, header.lines, header.check)
        known = {str(step.n) for step in log.steps}
        if set(names_in(self.folder(header.id) / "area" / "kept")) - known:
            raise DamagedLogError(
                f"{path} is not whole: more is kept than it tells of",
                f"What was replaced is kept in {path.parent}; to give it up: "
                f"tritonwin undo --forget {header.id}",
            )
        return log

    def plan(self, identifier: str) -> Json:
        """The plan that the journal carried out; None where there was none."""
        try:
            return parse(content(self.folder(identifier) / PLAN).decode("utf-8"))
        except (OSError, ValueError):
            return None

    def areas(self, identifier: str, log: Log) -> tuple[Path, ...]:
        """The folders that the journal keeps things in, its own first.

        Whatever the log says: what is to be deleted is a folder of this journal's name.
        """
        others = (Path(step.path) for step in log.steps if isinstance(step, MakeFolder))
        ours = (path for path in others if path.name == area_name(identifier))
        return (self.folder(identifier) / "area", *ours)

    def write_header(self, header: Header) -> None:
        """Raises OSError."""
        text = json.dumps(to_json(header), indent=2)
        replace_text(self.folder(header.id) / HEADER, text + "\n")

    def set_state(self, header: Header, state: State, log: Log) -> Header:
        """Write down how the journal stands now, also where the disk is full. Raises OSError."""
        changed = replace(header, state=state, lines=log.lines, check=log.check)
        try:
            self.write_header(changed)
        except OSError:
            if not discard(self.folder(header.id) / RESERVE):
                raise
            self.write_header(changed)
        return changed

    def aside(self, identifier: str) -> Path:
        """The folder of a journal that was given up."""
        return self.root.parent / "kept" / identifier

    def forget(self, identifier: str) -> tuple[Path, ...]:
        """Give a journal up: it cannot be undone any more. Nothing is deleted.

        Returns the folders with what it kept, its own one moved aside. Of a damaged journal those
        on other volumes are not known. Raises JournalError.
        """
        others: tuple[Path, ...] = ()
        with contextlib.suppress(JournalError):
            others = self.areas(identifier, self.log(self.header(identifier)))[1:]
        aside = self.aside(identifier)
        with in_words():
            aside.parent.mkdir(exist_ok=True)
        rename(self.folder(identifier), aside)
        return (aside, *(each for each in others if os.path.lexists(each)))

    def later(self, header: Header, apart: Collection[str] = ()) -> Header | None:
        """The newest journal of the same target that came after this one and is not undone.

        Args:
            apart: ids of journals that do not count.
        """
        newest = next((each for each in self._of_place(header) if each.id not in apart), None)
        return newest if newest is not None and newest.sequence > header.sequence else None

    def clear_staged(self, header: Header, log: Log) -> None:
        """Delete what was laid out for a journal that is applied and was not used."""
        for area in self.areas(header.id, log):
            discard(area / "staged")
            with contextlib.suppress(OSError):
                area.rmdir()  # of use only where something is kept in it

    def sweep(self) -> None:
        """Delete what earlier journals had to leave: a program had it loaded, or was killed."""
        for header in self.journals():
            with contextlib.suppress(JournalError):  # nothing of a damaged one is deleted
                log = self.log(header)
                if header.state == "applied":
                    self.clear_staged(header, log)
                elif header.state == "undone":
                    for area in self.areas(header.id, log):
                        discard(area)

    def _all(self) -> Iterator[Header | Unreadable | None]:
        return (self._read(name) for name in names_in(self.root))

    def _read(self, name: str) -> Header | Unreadable | None:
        file = self.root / name / HEADER
        try:
            header = from_json(Header, parse(content(file).decode("utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            # given up before anything was changed, or damaged
            lines = (read_bytes(self.root / name / STEPS, 1 << 30) or b"").count(b"\n")
            if lines < 2 and not names_in(self.root / name / "area" / "kept"):
                return None
            return Unreadable(id=name, reason=f"{file} is missing")
        except (OSError, DecodeError, ValueError) as error:
            reason = f"{file} cannot be read ({error}): damaged, or of another tritonwin"
            return Unreadable(id=name, reason=reason)
        return header if header.id == name else None


def area_name(identifier: str) -> str:
    """The name of a journal's area at a target."""
    return f".tritonwin-{identifier}"


def device(path: Path) -> int:
    """The number of the volume that the path is or would be on. Raises OSError."""
    return (nearest_existing(path) or path).stat().st_dev


def same_volume(one: Path, other: Path) -> bool:
    """True where a rename leads from one to the other; False where a drive is gone."""
    try:
        return device(one) == device(other)
    except OSError:
        return False


# --- one tritonwin at a time on one target; the system drops the lock of a process that dies

_PAUSE = 0.2  # seconds between two tries


class TargetBusyError(UserError):
    """Another tritonwin is at work on the same target."""


@contextlib.contextmanager
def locked(path: Path, target: str, wait: float) -> Iterator[None]:
    """Hold the lock file `path` for `target`; wait at most `wait` seconds for it.

    The file stays when the lock is released: removing it would let two processes each hold a
    lock on a file of that name.

    Raises:
        TargetBusyError: another process has it.
        JournalError: the lock file cannot be made.
    """
    end = time.monotonic() + wait
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while (descriptor := hold(path)) is None:
            if time.monotonic() >= end:
                raise TargetBusyError(
                    f"another tritonwin is at work on {target}",
                    "Wait until it has finished, or end it, and try again.",
                )
            time.sleep(_PAUSE)
    except OSError as error:
        refused = refusal(path, error)
        if error.errno != errno.ENOSPC:
            refused.help = (
                "tritonwin keeps there what it needs for an undo: make that folder writable. For a "
                f"new change another one can be named in the variable {DATA_VARIABLE}."
            )
        raise refused from error
    try:
        yield
    finally:
        os.close(descriptor)

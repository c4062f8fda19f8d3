"""A journal that is being written: its operations, each recorded before it is done."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tritonwin import __version__
from tritonwin.journal import disk
from tritonwin.journal.disk import JournalError, in_words, refusal
from tritonwin.journal.faults import faultpoint
from tritonwin.journal.log import Log
from tritonwin.journal.records import (
    Header,
    MakeFolder,
    Mark,
    Move,
    SetValue,
    Step,
)
from tritonwin.journal.store import PLAN, STEPS, Store, area_name, device, resolved
from tritonwin.journal.tree import listing, listing_hash, listing_text, stamps
from tritonwin.journal.undo import undo
from tritonwin.system.access import can_write, nearest_existing
from tritonwin.system.codec import Json
from tritonwin.system.registry import Registry, RegistryValue, this_registry

if TYPE_CHECKING:
    from collections.abc import Iterator


class Journal:
    """Changes to one target that can be undone. Paths are absolute.

    A context manager: applied at the end of the block, undone when an exception leaves it.
    Every operation raises JournalError where the system refuses; nothing is half done then.
    """

    def __init__(
        self, store: Store, header: Header, log: Log, registry: Registry | None = None
    ) -> None:
        self.store = store
        self.header = header
        self.log = log
        self.registry = registry or this_registry()
        self._area = store.folder(header.id) / "area"  # where only the user may read
        self._others: dict[int, Path] = {}  # areas at the target, by the number of the device

    @classmethod
    def begin(
        cls,
        store: Store,
        *,
        target: str,
        title: str,
        plan: Json = None,
        session: str | None = None,
        registry: Registry | None = None,
    ) -> Journal:
        """Start a journal; the caller holds `store.lock(target)`.

        Raises:
            JournalError: the store cannot be written, or an earlier journal of the target was cut
                off in the middle and has to be undone first.
        """
        for earlier in store.unfinished(target):
            raise JournalError(
                f"an earlier change of {target} was cut off in the middle ({earlier.title})",
                f"Undo it first: tritonwin undo {earlier.id}",
            )
        store.sweep()
        now = datetime.now(timezone.utc)
        header = Header(
            # short: paths of staged files must stay below Windows' limit of 260 characters
            id=_free_name(store, now),
            sequence=max((h.sequence for h in store.journals()), default=0) + 1,
            tool_version=__version__,
            target=target,
            place=resolved(target),
            title=title,
            started=now.isoformat(timespec="seconds"),
            state="open",
            session=session,
        )
        folder = store.folder(header.id)
        try:
            (folder / "area").mkdir(parents=True)
            log = Log.create(folder / STEPS, header.id)
            if plan is not None:
                disk.replace_text(folder / PLAN, json.dumps(plan, indent=2))
            store.write_header(header)
        except OSError as error:
            raise refusal(folder, error) from error
        return cls(store, header, log, registry)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.commit()
            return
        report = undo(self.store, self.header.id, registry=self.registry)
        if report.conflicts:
            raise JournalError(
                f"{error}; the changes before that could not be undone",
                f"See why: tritonwin undo {self.header.id} --dry-run",
            )

    @in_words()
    def commit(self) -> None:
        """Everything is done: what was only staged goes, what was replaced is kept."""
        self.header = self.store.set_state(self.header, "applied", self.log)
        self.store.clear_staged(self.header, self.log)
        if any(isinstance(step, SetValue) for step in self.log.steps):
            self.registry.announce()

    # -- files and folders

    @in_words()
    def write(self, path: Path, data: bytes) -> None:
        """Write this content to a file; what was there before, attributes and all, is kept.

        A file that replaces another takes over its permission bits (read-only on Windows).
        """
        mode = None
        if os.path.lexists(path):
            mode = stat.S_IMODE(path.lstat().st_mode) if not path.is_symlink() else None
        staged = self._staged(path) / secrets.token_hex(8)
        disk.write_new(staged, data, mode)
        if os.path.lexists(path):
            self.delete(path)
        self.make_folder(path.parent)
        self._move(staged, path)

    @in_words()
    def delete(self, path: Path) -> None:
        """Take away a file, link or folder with all that is in it."""
        same = device(path.parent) == device(self._area)
        kept = (self._area if same else self._at_target(path)) / "kept"  # may take a number
        kept.mkdir(exist_ok=True)
        self.move(path, kept / str(self._n))

    @in_words()
    def move(self, source: Path, destination: Path) -> None:
        """Rename a file, link or folder on its volume; folders above are made.

        A folder that cannot be renamed, because a DLL in it is loaded, is moved file by file.
        """
        self.make_folder(destination.parent)
        folder = disk.is_real_folder(source)
        try:
            self._move(source, destination, patience=disk.FOLDER_PATIENCE if folder else None)
        except JournalError as error:
            if not disk.locked_folder(source, error):
                raise
            self._make_one_folder(destination)
            for child in sorted(source.iterdir()):
                self.move(child, destination / child.name)
            if not self._own(source):
                self.delete(source)

    @in_words()
    def place(self, source: Path, destination: Path) -> None:
        """Put a staged file or folder at `destination`, merged into a folder that is there.

        A file that is in the way is kept. `source` is on the volume of `destination`, see
        `scratch`.
        """
        if not (disk.is_real_folder(source) and disk.is_real_folder(destination)):
            if os.path.lexists(destination):
                self.delete(destination)
            self.move(source, destination)
            return
        for child in sorted(source.iterdir()):
            self.place(child, destination / child.name)

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it, where they are not there."""
        missing = [p for p in (path, *path.parents) if not p.is_dir()]
        for folder in reversed(missing):
            self._make_one_folder(folder)

    @in_words()
    def scratch(self, near: Path) -> Path:
        """A new empty folder on the volume of `near`, for what is to be moved from there.

        Programs may write into it; it is gone when the journal is applied or undone.
        """
        # not by tempfile, whose folders only the user may read
        folder = self._staged(near) / secrets.token_hex(4)
        folder.mkdir()
        return folder

    # -- registry

    def set_value(self, key: str, name: str, value: RegistryValue | None) -> None:
        """Write the value `name` of `HKCU\\...` or `HKLM\\...`; None removes it.

        A value that is so already is left alone.
        """
        try:
            old = self.registry.stored(key, name)
            if old == value:
                return
            with self._recorded(SetValue(n=self._n, key=key, name=name, old=old, new=value)):
                self.registry.store(key, name, value)
        except OSError as error:
            raise refusal(key, error) from error

    # -- inside

    @property
    def _n(self) -> int:
        return self.log.next_number()

    @contextlib.contextmanager
    def _recorded(self, step: Step) -> Iterator[None]:
        """Record the step, do it, and say so if it failed and was not done."""
        self.log.append(step)
        try:
            faultpoint(f"begin {step.op}")
            yield
            faultpoint(f"end {step.op}")
        except (JournalError, OSError):
            self.log.append(Mark(n=step.n, state="failed"))
            raise

    def _move(self, source: Path, destination: Path, patience: float | None = None) -> None:
        old, new = _spelled(source), _spelled(destination)
        if not os.path.lexists(source):
            raise JournalError(f"{source} does not exist")
        put = stamp = None
        if self._own(source):
            put = listing_text(listing(source))
        else:
            with contextlib.suppress(PermissionError):  # it cannot be looked into, only moved
                stamp = listing_hash(stamps(source))
        step = Move(n=self._n, source=old, destination=new, put=put, stamp=stamp)
        with self._recorded(step):
            disk.rename(source, destination, disk.PATIENCE if patience is None else patience)

    def _own(self, path: Path) -> bool:
        return any(path.is_relative_to(area) for area in (self._area, *self._others.values()))

    def _make_one_folder(self, path: Path) -> None:
        with self._recorded(MakeFolder(n=self._n, path=_spelled(path))):
            disk.make_folder(path)

    def _staged(self, near: Path) -> Path:
        """A folder on the volume of `near` for what is to be moved there.

        At the target, since a file that is renamed on Windows keeps the access rights that it got
        from the folder in which it was made: from the user's own folder nobody else could read.
        """
        folder = self._at_target(near) / "staged"
        folder.mkdir(exist_ok=True)
        return folder

    def _at_target(self, near: Path) -> Path:
        """The area on the volume of `near`, best beside python.exe.

        Programs list and copy site-packages, but not that folder.
        """
        number, home = device(near.parent), Path(self.header.target).parent
        if number not in self._others:
            suits = home.is_dir() and device(home) == number and can_write(home)
            place = home if suits else nearest_existing(near.parent) or near.parent
            area = place / area_name(self.header.id)
            self._make_one_folder(area)
            self._others[number] = area
        return self._others[number]


def _free_name(store: Store, now: datetime) -> str:
    """A name after the time; the clock may have been set back to a time that was before."""
    while True:
        name = f"{now:%y%m%d-%H%M%S-%f}"
        if not any(map(os.path.lexists, (store.folder(name), store.aside(name)))):
            return name
        now += timedelta(microseconds=1)


def _spelled(path: Path) -> str:
    """The path as it can be recorded. Raises JournalError for a name that is no text."""
    text = str(path)
    if not path.is_absolute():
        raise JournalError(f"not an absolute path: {text}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise JournalError(
            f"a file name with a character that cannot be written down: {text!r}",
            "Rename that file and try again.",
        ) from None
    return text

"""Undo what a journal changed, newest step first; begun again wherever it was cut off."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.journal import disk
from tritonwin.journal.backwards import (
    Action,
    Backwards,
    Conflict,
    Decision,
    Discard,
    PutValue,
    Rename,
    TakeFolder,
    words,
)
from tritonwin.journal.disk import JournalError, in_words, refusal
from tritonwin.journal.faults import faultpoint
from tritonwin.journal.log import RESERVE, Log
from tritonwin.journal.records import (
    Header,
    MakeFolder,
    Mark,
    Move,
    SetValue,
    State,
    Step,
    Unreadable,
)
from tritonwin.journal.store import Store
from tritonwin.journal.tree import listing_hash, stamps
from tritonwin.journal.view import Imagined, Machine
from tritonwin.system.registry import Registry, this_registry


@dataclass(frozen=True, kw_only=True)
class UndoReport:
    """The result of an undo, or the forecast.

    Attributes:
        conflicts: places changed by somebody else since; with any, and without force, nothing is
            done.
        notes: what stays, and why.
        restored: everything that the journal touched was looked at, and is as it was before.
        differs: the places that it touched and that are not.
        left: folders of the journal that a running program keeps from being deleted.
    """

    id: str
    title: str
    target: str
    state: State
    actions: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    restored: bool = False
    differs: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """True where a copy that was kept for the undo is gone."""
        return any(conflict.lost for conflict in self.conflicts)


@dataclass(frozen=True, kw_only=True)
class UndoResult:
    """The reports of an undo, the newest round first, and the rounds that would follow.

    Attributes:
        damaged: journals that cannot be read; what they changed is not undone.
    """

    reports: tuple[UndoReport, ...]
    then: tuple[Header, ...] = ()
    damaged: tuple[Unreadable, ...] = ()
    declined: bool = False

    @property
    def stuck(self) -> bool:
        """True where something was changed by others since and so was not undone, or is lost."""
        return any(r.lost or (r.conflicts and r.state != "undone") for r in self.reports)


def preview(store: Store, identifier: str, registry: Registry | None = None) -> UndoReport:
    """The report that `undo` would return. Nothing is changed.

    Raises:
        JournalError: no such journal, or one that cannot be read.
    """
    run = _Run(store, identifier, registry)
    return run.report(run.imagine())


def undo(
    store: Store,
    identifier: str,
    *,
    force: bool = False,
    registry: Registry | None = None,
    apart: Collection[str] = (),
) -> UndoReport:
    """Undo every change of a journal; the caller holds the lock of its target.

    With conflicts nothing is done, unless `force`: then what is in the way gets another name
    beside it, and what is gone stays gone, as does what has no folder to go back to. Where a copy
    that was kept is lost, a change that is whole stays also with force: neither old nor new would
    be left.

    Args:
        apart: ids of later journals that changed other files alone, and may stay.

    Raises:
        JournalError: a file cannot be moved now; what is left to do is done by the next undo.
    """
    run = _Run(store, identifier, registry)
    if run.header.state == "undone":
        return run.report([])
    later = store.later(run.header, apart)
    if later is not None:
        raise JournalError(
            f"{identifier} cannot be undone before {later.id} ({later.title}), which came later",
            f"Undo that first: tritonwin undo {later.id}",
        )
    foreseen = run.report(run.imagine())
    if foreseen.conflicts and not (force and (not foreseen.lost or run.header.state != "applied")):
        return foreseen
    return run.carry_out(force=force)


class _Run:
    def __init__(self, store: Store, identifier: str, registry: Registry | None) -> None:
        self.store = store
        self.header: Header = store.header(identifier)
        self.log: Log = store.log(self.header)
        self.areas = store.areas(identifier, self.log)
        self.registry = registry or this_registry()

    def _pending(self) -> Iterator[tuple[Step, bool]]:
        """The steps to undo, newest first, and whether it is certain that each was done."""
        log, state = self.log, self.header.state
        # a crash may have kept the last one from being done, or from being marked as undone
        begun = log.steps[-1].n if state == "open" and log.steps and not log.undone else None
        certain = state != "half"
        for step in reversed(log.steps):
            if step.n not in log.undone and step.n not in log.failed:
                yield step, certain and step.n != begun
                certain = True

    def imagine(self) -> list[Decision]:
        view = Imagined(self.registry)
        backwards = Backwards(view, self.log, self.areas)
        decisions: list[Decision] = []
        with in_words():
            for step, certain in self._pending():
                decision = backwards.decide(step, certain=certain)
                decisions.append(decision)
                for action in decision.actions:
                    _imagine(action, view)
        return decisions

    def carry_out(self, *, force: bool) -> UndoReport:
        backwards = Backwards(Machine(self.registry), self.log, self.areas)
        pending = list(self._pending())
        self._set_state("half")
        decisions: list[Decision] = []
        for step, certain in pending:
            with in_words():
                decision = backwards.decide(step, certain=certain)
                if decision.conflicts and not force:
                    first = decision.conflicts[0]
                    raise JournalError(
                        f"{first.place} was changed while the undo was running: {first.found}",
                        "See what is there now: tritonwin undo --dry-run",
                    )
                if decision.split:
                    self.log.append(Mark(n=step.n, state="split"))
                for action in decision.actions:
                    self._do(step.n, action)
            self.log.append(Mark(n=step.n, state="undone"))
            decisions.append(decision)
        with in_words():
            differs = tuple(self._differing(backwards))
        left = [str(area) for area in self.areas if not disk.discard(area)]
        self._set_state("undone")
        disk.discard(self.store.folder(self.header.id) / RESERVE)
        if any(isinstance(step, SetValue) for step, _ in pending):
            self.registry.announce()
        return replace(self.report(decisions, left), restored=not differs, differs=differs)

    def _differing(self, backwards: Backwards) -> Iterator[str]:
        """The places that the journal touched and that are not as they were before."""
        before: dict[Path, str | None] = {}  # stamps; None: nothing was there
        above: set[Path] = set()  # what lies above them
        for step in self.log.steps:
            for path, stamp in _touched(step) if step.n not in self.log.failed else ():
                covered = any(parent in before for parent in (path, *path.parents))
                if not covered and not backwards.own(path):
                    before[path] = _THERE if path in above and stamp is not None else stamp
                    above.update(path.parents)
        for path, stamp in before.items():
            found = stamps(path)
            same = bool(found) == (stamp is not None)
            if stamp not in {None, _THERE} and found:
                same = listing_hash(found) == stamp
            if not same:
                yield str(path)

    def report(self, decisions: list[Decision], left: Sequence[str] = ()) -> UndoReport:
        return UndoReport(
            id=self.header.id,
            title=self.header.title,
            target=self.header.target,
            state=self.header.state,
            actions=tuple(words(action) for d in decisions for action in d.actions),
            conflicts=tuple(conflict for d in decisions for conflict in d.conflicts),
            notes=tuple(note for d in decisions for note in d.notes),
            left=tuple(left),
        )

    def _set_state(self, state: State) -> None:
        with in_words():
            self.header = self.store.set_state(self.header, state, self.log)

    def _do(self, number: int, action: Action) -> None:
        match action:
            case Rename(source, destination):
                if any(destination.is_relative_to(area) for area in self.areas):
                    # it may have been cleared when the journal was applied
                    destination.parent.mkdir(parents=True, exist_ok=True)
                self._rename(number, source, destination)
            case TakeFolder(path):
                disk.remove_folder(path)
            case Discard(path):
                disk.discard(path)
            case PutValue(key, name, value):
                try:
                    faultpoint("before put value")
                    self.registry.store(key, name, value)
                except OSError as error:
                    raise refusal(key, error) from error

    def _rename(self, number: int, source: Path, destination: Path) -> None:
        """Move a folder with a loaded DLL in it file by file; `_into` goes on where it stopped."""
        patience = disk.FOLDER_PATIENCE if disk.is_real_folder(source) else disk.PATIENCE
        try:
            disk.rename(source, destination, patience)
        except JournalError as error:
            if not disk.locked_folder(source, error):
                raise
            self.log.append(Mark(n=number, state="split"))
            disk.make_folder(destination)
            for child in sorted(source.iterdir()):
                self._rename(number, child, destination / child.name)
            disk.remove_folder(source)


_THERE = "there"  # in a state that nothing was written down of


def _touched(step: Step) -> Iterator[tuple[Path, str | None]]:
    """The places that a step changes, and their stamps before it; None: nothing was there."""
    match step:
        case Move():
            yield Path(step.source), step.stamp or _THERE
            yield Path(step.destination), None
        case MakeFolder(path=path):
            yield Path(path), None


def _imagine(action: Action, view: Imagined) -> None:
    match action:
        case Rename(source, destination):
            view.move(source, destination)
        case TakeFolder(path) | Discard(path):
            view.remove(path)
        case PutValue(key, name, value):
            view.set_value(key, name, value)

"""undo: the journals of the last fix or of one change, shown, undone in order, or forgotten."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tritonwin.errors import UserError
from tritonwin.facts.history import forget_proven
from tritonwin.journal import Header, JournalError, Store, UndoReport, preview, undo
from tritonwin.journal.log import DamagedLogError
from tritonwin.journal.undo import UndoResult
from tritonwin.system.host import Environment

if TYPE_CHECKING:
    from tritonwin.remedies.context import Agree

_WAIT = 5.0  # seconds for another tritonwin that is at work on the target


def undo_change(
    store: Store,
    agree: Agree,
    identifier: str | None = None,
    *,
    target: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    on_preview: Callable[[UndoResult], None] = lambda _: None,
) -> UndoResult:
    """Undo one journal; without its id the last change of the target, or of any, with all rounds.

    Args:
        force: also where something was changed since, which is kept beside it.
        on_preview: told what will be undone, before the question.

    Raises:
        UserError: there is nothing to undo, another tritonwin is at work on the target, or a file
            cannot be moved now.
    """
    header = _header(store, identifier, target)
    with store.lock(header.target, _WAIT):
        header = store.header(header.id)  # another tritonwin may have been at it before the lock
        rounds = (header,) if identifier else store.session(header)
        if not rounds:
            raise JournalError(
                f"another tritonwin has undone {header.id} in the meantime",
                "See what is left: tritonwin undo --list",
            )
        # what lies under a later round can be looked at only when that round is undone
        damaged = store.unreadable() if not identifier else ()
        shown = UndoResult(reports=(preview(store, header.id),), then=rounds[1:], damaged=damaged)
        foreseen = shown.reports[0]
        lost = foreseen.lost and foreseen.state == "applied"
        if dry_run or (foreseen.conflicts and (lost or not force)):
            return shown
        on_preview(shown)
        if not agree("Undo this?"):
            return UndoResult(reports=shown.reports, declined=True)
        store.sweep()
        reports: list[UndoReport] = []
        for each in rounds:
            reports.append(undo(store, each.id, force=force))
            if reports[-1].state != "undone":
                break
        first = rounds[-1]
        if reports[-1].state == "undone" and first.state != "undone":
            # it rested on what is gone, so doctor is not to compare with it
            forget_proven(first.target, Environment(dict(os.environ)), since=first.started)
        return UndoResult(reports=tuple(reports), damaged=damaged)


def forget_change(
    store: Store, agree: Agree, identifier: str | None = None, *, target: str | None = None
) -> tuple[Path, ...]:
    """Give up the undo of a change; the folders with what was kept for it, empty without consent.

    Raises:
        UserError: there is no such change, or it was cut off in the middle and its target exists.
    """
    damaged = next((d for d in store.unreadable() if d.id == identifier), None)
    if damaged is not None:
        agreed = agree(f"{damaged.reason}. Give up what it changed?")
        return store.forget(damaged.id) if agreed else ()
    header = _header(store, identifier, target)
    with store.lock(header.target, _WAIT):
        header = store.header(header.id)
        if header.state in {"open", "half"} and os.path.lexists(header.target):
            # where what it changed is not known there is no other way out
            with contextlib.suppress(DamagedLogError):
                store.log(header)
                raise JournalError(
                    f"{header.id} was cut off in the middle; its target is neither old nor new",
                    f"Undo it first: tritonwin undo {header.id}",
                )
        agreed = agree(f"Never undo {header.id} ({header.title})?")
        return store.forget(header.id) if agreed else ()


def _header(store: Store, identifier: str | None, target: str | None) -> Header:
    if identifier:
        return store.header(identifier)
    found = store.latest(target)
    if found is None:
        where = f" in {target}" if target else ""
        damaged = store.unreadable()
        if damaged:
            raise UserError(
                f"no journal that can be read tells of a change{where}, and {damaged[0].reason}",
                f"Restore that file from a backup, or give it up with what it kept in "
                f"{store.folder(damaged[0].id)}: tritonwin undo --forget {damaged[0].id}",
            )
        raise UserError(
            f"tritonwin changed nothing that could be undone{where}",
            "See what it did: tritonwin undo --list",
        )
    return found

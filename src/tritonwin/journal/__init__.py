"""Changes to a target, recorded before they are made so that they can be undone byte for byte.

    store = Store.default()
    with store.lock(target), Journal.begin(store, target=target, title="...") as journal:
        journal.delete(folder)               # moved into the journal, not deleted
        journal.write(file, b"...")
        journal.place(staged, destination)   # a staged file or folder, merged into what is there

Leaving the block applies the journal; an exception in it undoes what was done. Whatever changes
a target goes through these operations and no other way.
"""

from __future__ import annotations

from tritonwin.journal.backwards import Conflict
from tritonwin.journal.disk import JournalError
from tritonwin.journal.faults import faultpoint
from tritonwin.journal.journal import Journal
from tritonwin.journal.records import Header, State
from tritonwin.journal.store import Store, TargetBusyError
from tritonwin.journal.undo import UndoReport, preview, undo
from tritonwin.system.registry import RegistryValue

__all__ = [
    "Conflict",
    "Header",
    "Journal",
    "JournalError",
    "RegistryValue",
    "State",
    "Store",
    "TargetBusyError",
    "UndoReport",
    "faultpoint",
    "preview",
    "undo",
]

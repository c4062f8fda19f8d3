"""The import hook as `patch` handles it: written and taken out through a journal."""

from __future__ import annotations

from collections.abc import Sequence

from tritonwin.errors import UserError
from tritonwin.facts.model import Interpreter
from tritonwin.facts.triton_facts import HOOK, HOOK_START
from tritonwin.journal import Header, Journal, undo
from tritonwin.patch.hook import install
from tritonwin.patch.hook.apply import RuleChoice
from tritonwin.patch.hook.install import Installed
from tritonwin.patch.operations import HOOK_ACTION, Place, is_journal_of
from tritonwin.system.codec import Json


def find(target: Interpreter | None) -> Installed | None:
    """The hook that applies rules; one that carries payloads alone is none."""
    there = install.find(target) if target else None
    return there if there and there.choice else None


def check(target: Interpreter | None) -> Interpreter:
    """The interpreter that a hook would start with.

    Raises:
        UserError: it is not known, or starts no hook.
    """
    if target is None:
        raise UserError(
            "the import hook belongs to a Python, and --triton names only a folder",
            "Name the Python: --python EXE",
        )
    if install.find(target) is None:
        install.place(target)
    return target


def write(
    place: Place, target: Interpreter, only: Sequence[str], *, allow_unknown: bool
) -> tuple[str, tuple[str, ...]]:
    """Write the hook; the id of the journal and the files.

    Raises:
        UserError: nothing can be written where it belongs.
    """
    record: Json = {"action": HOOK_ACTION, "package": str(place.package)}
    choice = RuleChoice(only=tuple(only), allow_unknown=allow_unknown)
    there = install.find(target)
    with place.locked():
        title = f"patch Triton in {place.package} when it is imported"
        with Journal.begin(place.store, target=place.target, title=title, plan=record) as journal:
            files = install.write(journal, target, choice, there.payloads if there else ())
    return journal.header.id, tuple(str(file) for file in files)


def remove(place: Place, target: Interpreter, there: Installed) -> tuple[str, tuple[str, ...]]:
    """Take the rules out of the hook. The last journal's id, and the files.

    Without payloads this is the undo of the journals that wrote it.

    Raises:
        UserError: it was not written by a tritonwin that keeps its journals here.
    """
    with place.locked():
        if there.payloads:
            record: Json = {"action": HOOK_ACTION, "package": str(place.package)}
            title = f"patch Triton in {place.package} no longer when it is imported"
            with Journal.begin(
                place.store, target=place.target, title=title, plan=record
            ) as journal:
                install.write(journal, target, None, there.payloads)
            header = journal.header
        else:
            header = _undo(place, target, there)
    install.drop_kept(there.folder)
    return header.id, tuple(str(there.folder / name) for name in (HOOK, HOOK_START))


def _undo(place: Place, target: Interpreter, there: Installed) -> Header:
    headers = [
        header
        for header in place.store.journals(place.target)[::-1]
        if header.state != "undone" and is_journal_of(header, place, HOOK_ACTION)
    ]
    if not headers:
        raise UserError(
            f"the import hook in {there.folder} was not written from here",
            f"Delete {HOOK} and {HOOK_START} in that folder by hand.",
        )
    for header in headers:
        if find(target) is None:
            break
        report = undo(place.store, header.id)
        if report.conflicts:
            conflict = report.conflicts[0]
            raise UserError(
                f"{conflict.place} was changed since: {conflict.found}",
                f"Keep that beside it: tritonwin undo {header.id} --force",
            )
    return header

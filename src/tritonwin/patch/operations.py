"""Apply and revert: one at a time on one Triton, each change a journal's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.patch_record import Manifest, compare, manifest_path, read_manifest
from tritonwin.journal import Header, Journal, Store, UndoReport, preview, undo
from tritonwin.patch.disk import PatchPlan, drop_bytecode, write_edits
from tritonwin.system.codec import Json

ACTION = "patch"  # of the plans of our journals
HOOK_ACTION = "patch-hook"
_WAIT = 5.0  # seconds for another tritonwin


@dataclass(frozen=True, kw_only=True)
class Place:
    """A Triton on this machine and what keeps account of its changes.

    Attributes:
        target: whose journals these are: the interpreter, or the package folder.
    """

    package: Path
    target: str
    store: Store
    data: Path  # tritonwin's data folder

    def manifest(self) -> Manifest | None:
        """What tritonwin wrote into the package, whether it is still there or not."""
        return read_manifest(self.data, self.package)

    def manifest_in_force(self) -> Manifest | None:
        """The same, if any of it is still there.

        A reinstall, or another version in the place of the one that was patched, ends it.
        """
        found = self.manifest()
        return found if found and compare(found, self.package).ours else None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold both names that the Triton may be known by."""
        with contextlib.ExitStack() as stack:
            for name in dict.fromkeys((self.target, str(self.package))):
                stack.enter_context(self.store.lock(name, _WAIT))
            yield


@dataclass(frozen=True, kw_only=True)
class Reverted:
    """What a revert did.

    Attributes:
        reports: of the journals that were undone, newest first; the last one may be of one that
            was not, since somebody changed its files.
        changed: files that were given back, relative to the package.
    """

    reports: tuple[UndoReport, ...]
    changed: tuple[str, ...]

    @property
    def refused(self) -> bool:
        return any(report.state != "undone" for report in self.reports)


def apply(plan: PatchPlan, place: Place, helpers: Sequence[Path] = ()) -> str | None:
    """Carry out a plan; the id of its journal, None where there is nothing to do.

    Args:
        helpers: entries of Triton's cache with compiled helper modules. They are named after
            their C source alone, so one that was built before the patch might be taken for good.
            A journal of its own takes them away.

    Raises:
        UserError: another tritonwin is at work, or a file cannot be changed; nothing is, then.
    """
    if not plan.edits:
        return None
    record: Json = {
        "action": ACTION,
        "package": str(place.package),
        "rules": [rule for edit in plan.edits for rule in edit.rules],
    }
    with place.locked():
        clear(helpers, place)
        name = f"Triton {plan.tree.version}" if plan.tree.version else "Triton"
        title = f"patch {name} in {place.package}"
        with Journal.begin(place.store, target=place.target, title=title, plan=record) as journal:
            write_edits(journal, plan, place.data, place.manifest_in_force())
    drop_bytecode(place.package, [edit.source.file for edit in plan.edits])
    return journal.header.id


def clear(helpers: Sequence[Path], place: Place) -> None:
    """Take compiled helper modules out of Triton's cache."""
    if not helpers:
        return
    title = f"clear {len(helpers)} compiled helper modules of Triton"
    with Journal.begin(place.store, target=place.target, title=title) as journal:
        for folder in helpers:
            journal.delete(folder)


def revert(place: Place) -> Reverted:
    """Undo what apply did, newest first, wherever it stands: applied, or cut off in the middle.

    Raises:
        UserError: the journal holds other changes too, or is not here.
    """
    with place.locked():
        reports = list(_finish(place))
        files: dict[str, None] = {}
        while (manifest := place.manifest()) is not None:
            if not compare(manifest, place.package).ours:
                # a reinstall has given everything back already
                manifest_path(place.data, place.package).unlink()
                break
            report = _undo_last(manifest, place)
            reports.append(report)
            if report.state != "undone":
                break
            files |= dict.fromkeys(each.file for each in manifest.files)
    drop_bytecode(place.package, files)
    return Reverted(reports=tuple(reports), changed=tuple(files))


def _finish(place: Place) -> Iterator[UndoReport]:
    """Undo what was cut off in the middle."""
    for header in place.store.unfinished(place.target):
        if is_journal_of(header, place, ACTION):
            yield undo(place.store, header.id)


def _undo_last(manifest: Manifest, place: Place) -> UndoReport:
    header = _header(manifest.journals[-1], place)
    if not is_journal_of(header, place, ACTION):
        raise UserError(
            f"the patch is part of a larger change ({header.title})",
            f"Give all of it back: tritonwin undo {header.id}",
        )
    report = preview(place.store, header.id)
    return report if report.conflicts else undo(place.store, header.id)


def _header(identifier: str, place: Place) -> Header:
    known = {header.id: header for header in place.store.journals()}
    if identifier not in known:
        raise UserError(
            f"what {place.package} held before is not kept any more (journal {identifier})",
            "Install Triton anew: that puts its own files back.",
        )
    return known[identifier]


def is_journal_of(header: Header, place: Place, action: str) -> bool:
    """Whether a journal was written by `patch`, for that action alone."""
    plan = place.store.plan(header.id)
    return isinstance(plan, dict) and plan.get("action") == action

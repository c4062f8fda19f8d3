"""The changes of `patch`, each in a journal, one at a time on one Triton.

`apply` and `revert` change Triton's files, `write_hook` and `remove_hook` those of the import hook.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin import __version__
from tritonwin.errors import UserError
from tritonwin.facts.history import Manifest, compare, manifest_path, read_manifest
from tritonwin.facts.records import Interpreter
from tritonwin.facts.torch_triton import HOOK, HOOK_START
from tritonwin.journal import Header, Journal, JournalError, Store, UndoReport, preview, undo
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook import install
from tritonwin.patch.plan import SIZE_LIMIT
from tritonwin.patch.records import PatchPlan
from tritonwin.system.codec import Json
from tritonwin.system.files import read_bytes

ACTION = "patch"  # of the plans of our journals
HOOK_ACTION = "patch-hook"
_WAIT = 5.0  # seconds for another tritonwin


@dataclass(frozen=True, kw_only=True)
class PatchPlace:
    """A Triton on this machine and what keeps account of its changes.

    Attributes:
        target: whose journals these are: the interpreter, or the package folder.
    """

    package: Path
    target: str
    store: Store
    data: Path  # tritonwin's data folder

    def manifest(self) -> Manifest | None:
        """The record of tritonwin's edits in the package, even if they are gone from there."""
        return read_manifest(self.data, self.package)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold both names that the Triton may be known by."""
        with contextlib.ExitStack() as stack:
            for name in dict.fromkeys((self.target, str(self.package))):
                stack.enter_context(self.store.lock(name, _WAIT))
            yield

    def journal(self, title: str, **plan: Json) -> Journal:
        """A journal of this Triton; `plan` says which action wrote it."""
        record: Json = {**plan, "package": str(self.package)} if plan else None
        return Journal.begin(self.store, target=self.target, title=title, plan=record)

    def wrote(self, header: Header, action: str) -> bool:
        """True if `patch` wrote that journal, for that action alone."""
        plan = self.store.plan(header.id)
        return isinstance(plan, dict) and plan.get("action") == action


# -- files


def apply(plan: PatchPlan, place: PatchPlace, helpers: Sequence[Path] = ()) -> str | None:
    """Carry out a plan; the id of its journal, None where there is nothing to do.

    Args:
        helpers: entries of Triton's cache with compiled helper modules. They are named after
            their C source alone, so one that was built before the patch might be taken for good.
            A journal of its own removes them.

    Raises:
        UserError: another tritonwin is at work, or a file cannot be changed; nothing is, then.
    """
    if not plan.edits:
        return None
    name = f"Triton {plan.version}" if plan.version else "Triton"
    with place.locked():
        clear(helpers, place)
        title = f"patch {name} in {place.package}"
        with place.journal(title, action=ACTION, rules=[*plan.rules]) as journal:
            write_edits(journal, plan, place.data)
    return journal.header.id


def write_edits(journal: Journal, plan: PatchPlan, data: Path) -> None:
    """Write what was planned, and the manifest. The caller holds the locks.

    Args:
        data: tritonwin's data folder.

    Raises:
        JournalError: a file cannot be changed, or is not any more what the plan was made from.
    """
    old = read_manifest(data, plan.package)
    if old and not compare(old, plan.package).ours:
        old = None  # a reinstall, or another version in the place of the one that was patched
    for edit in plan.edits:
        if read_bytes(edit.path, SIZE_LIMIT) != edit.before:
            raise JournalError(
                f"{edit.path} was changed while it was being patched",
                "Try again when nothing else is at work on this Triton.",
            )
        journal.write(edit.path, edit.after)
    journal.write(
        manifest_path(data, plan.package), _manifest(plan, old, journal.header.id).encode()
    )
    _drop_bytecode(plan.package, [edit.file for edit in plan.edits])


def _manifest(plan: PatchPlan, old: Manifest | None, journal: str) -> Manifest:
    entries = {each.file: each for each in old.files} if old else {}
    for edit in plan.edits:
        new, there = edit.hashes, entries.get(edit.file)
        if there:  # rules were applied to it before
            new = replace(new, before=there.before, rules=(*there.rules, *new.rules))
        entries[edit.file] = new
    return Manifest(
        package=str(plan.package),
        tool_version=__version__,
        journals=(*(old.journals if old else ()), journal),
        files=tuple(entries.values()),
    )


def _drop_bytecode(package: Path, files: Collection[str]) -> None:
    """Delete what Python compiled from these files: not all of it is checked against the source.

    It is made again when it is needed, so that no journal has to remember it.
    """
    for file in files:
        if not file.endswith(".py"):
            continue
        path = (package / file).resolve()
        with contextlib.suppress(OSError):
            for compiled in path.parent.joinpath("__pycache__").glob(f"{path.stem}.*.pyc"):
                compiled.unlink()


def clear(helpers: Sequence[Path], place: PatchPlace) -> None:
    """Take compiled helper modules out of Triton's cache."""
    if helpers:
        with place.journal(f"clear {len(helpers)} compiled helper modules of Triton") as journal:
            for folder in helpers:
                journal.delete(folder)


@dataclass(frozen=True, kw_only=True)
class Reverted:
    """The result of a revert.

    Attributes:
        reports: of the journals that were undone, newest first; the last one may be of one that
            was not, since somebody changed its files.
        changed: files that were restored, relative to the package.
    """

    reports: tuple[UndoReport, ...]
    changed: tuple[str, ...]

    @property
    def refused(self) -> bool:
        return any(report.state != "undone" for report in self.reports)


def revert(place: PatchPlace) -> Reverted:
    """Undo what apply did, newest first, wherever it stands: applied, or cut off in the middle.

    Raises:
        UserError: the journal holds other changes too, or is not here.
    """
    with place.locked():
        reports = [
            undo(place.store, header.id)
            for header in place.store.unfinished(place.target)
            if place.wrote(header, ACTION)
        ]
        files: dict[str, None] = {}
        while (manifest := place.manifest()) is not None:
            if not compare(manifest, place.package).ours:
                # a reinstall has restored everything already
                manifest_path(place.data, place.package).unlink()
                break
            report = _undo_last(manifest, place)
            reports.append(report)
            if report.state != "undone":
                break
            files |= dict.fromkeys(each.file for each in manifest.files)
    _drop_bytecode(place.package, files)
    return Reverted(reports=tuple(reports), changed=tuple(files))


def _undo_last(manifest: Manifest, place: PatchPlace) -> UndoReport:
    identifier = manifest.journals[-1]
    header = next((each for each in place.store.journals() if each.id == identifier), None)
    if header is None:
        raise UserError(
            f"what {place.package} held before is not kept any more (journal {identifier})",
            "Install Triton again: that restores its own files.",
        )
    if not place.wrote(header, ACTION):
        raise UserError(
            f"the patch is part of a larger change ({header.title})",
            f"Undo all of it: tritonwin undo {header.id}",
        )
    report = preview(place.store, header.id)
    return report if report.conflicts else undo(place.store, header.id)


# -- the import hook


def find_hook(target: Interpreter | None) -> install.Installed | None:
    """The hook that applies rules; None for one that carries payloads alone."""
    there = install.find(target) if target else None
    return there if there and there.choice else None


def hook_target(target: Interpreter | None) -> Interpreter:
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


def write_hook(
    place: PatchPlace, target: Interpreter, choice: RuleChoice
) -> tuple[str, tuple[str, ...]]:
    """Write the hook; the id of the journal and the files.

    Raises:
        UserError: nothing can be written where it belongs.
    """
    there = install.find(target)
    title = f"patch Triton in {place.package} when it is imported"
    with place.locked(), place.journal(title, action=HOOK_ACTION) as journal:
        files = install.write(journal, target, choice, there.payloads if there else ())
    return journal.header.id, tuple(map(str, files))


def remove_hook(
    place: PatchPlace, target: Interpreter, there: install.Installed
) -> tuple[str, tuple[str, ...]]:
    """Take the rules out of the hook. The last journal's id, and the files.

    Without payloads this is the undo of the journals that wrote it, if nothing was written after
    them: what else was in it then, is in it no longer.

    Raises:
        UserError: it was not written by a tritonwin that keeps its journals here.
    """
    with place.locked():
        if there.payloads:
            title = f"patch Triton in {place.package} no longer when it is imported"
            with place.journal(title, action=HOOK_ACTION) as journal:
                install.write(journal, target, None, there.payloads)
            identifier = journal.header.id
        elif _wrote_last(place):
            identifier = _undo_hook(place, target, there)
        else:
            title = f"patch Triton in {place.package} no longer when it is imported"
            with place.journal(title, action=HOOK_ACTION) as journal:
                install.delete(journal, there)
            identifier = journal.header.id
    install.drop_kept(there.folder)
    return identifier, tuple(str(there.folder / name) for name in (HOOK, HOOK_START))


def _wrote_last(place: PatchPlace) -> bool:
    """Whether the hook's rules were the last change that can be undone, or there was none."""
    headers = [h for h in place.store.journals(place.target) if h.state != "undone"]
    return not headers or place.wrote(headers[-1], HOOK_ACTION)


def _undo_hook(place: PatchPlace, target: Interpreter, there: install.Installed) -> str:
    headers = [
        header
        for header in place.store.journals(place.target)[::-1]
        if header.state != "undone" and place.wrote(header, HOOK_ACTION)
    ]
    if not headers:
        raise UserError(
            f"the import hook in {there.folder} was not written from here",
            f"Delete {HOOK} and {HOOK_START} in that folder by hand.",
        )
    for header in headers:
        if find_hook(target) is None:
            break
        report = undo(place.store, header.id)
        if report.conflicts:
            conflict = report.conflicts[0]
            raise UserError(
                f"{conflict.place} was changed since: {conflict.found}",
                f"Keep that beside it: tritonwin undo {header.id} --force",
            )
    return header.id

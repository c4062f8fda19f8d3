"""One Triton, found by its folder or by its Python, and what `patch` does to it.

Each change is in a journal, one at a time on one Triton: of its files, or of the import hook.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from tritonwin import __version__
from tritonwin.errors import UserError
from tritonwin.facts.caches import read_caches, read_entries
from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.dlls.loading import dll_search
from tritonwin.facts.history import Manifest, compare, manifest_path, read_manifest
from tritonwin.facts.interpreters import find_target
from tritonwin.facts.packages import find_package
from tritonwin.facts.records import Interpreter
from tritonwin.facts.target import examine as examine_target
from tritonwin.facts.torch_triton import HOOK, HOOK_START, read_torch
from tritonwin.journal import Header, Journal, JournalError, Store, UndoReport, preview, undo
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook import install
from tritonwin.patch.plan import SIZE_LIMIT, examine, make_plan, read_triton
from tritonwin.patch.records import Hook, PatchOutcome, PatchPlan, PatchStatus, Report
from tritonwin.system.codec import Json
from tritonwin.system.files import is_file, read_bytes
from tritonwin.system.host import Host, data_folder

ACTION = "patch"  # in the plan of a journal: which of our commands wrote it
HookAction = Literal["patch-hook", "driver"]
ALL = RuleChoice()
_WAIT = 5.0  # seconds for another tritonwin
_NOT_KEPT = (
    "The files carry edits of tritonwin, but what they were before is not kept here: install this "
    "Triton again to restore it."
)
_FORK = (
    "This is triton-windows: it carries its own support for Windows, and only what it lacks is "
    "offered."
)
_RESTART = "Programs that are running keep the Triton that they loaded; restart them."


@dataclass(frozen=True, kw_only=True)
class PatchSession:
    """A Triton to work on.

    Attributes:
        owner: whose journals these are: the interpreter, or the package folder.
        target: None where only the folder is known.
        helpers: gives the entries of the caches that hold compiled helper modules of the target.
    """

    package: Path
    owner: str
    store: Store
    target: Interpreter | None = None
    helpers: Callable[[], tuple[Path, ...]] = tuple

    def status(self) -> PatchOutcome:
        return self._outcome("examined")

    def diff(self, choice: RuleChoice = ALL, *, import_time: bool = False) -> PatchOutcome:
        plan = self.plan(choice)
        if import_time:
            self._hook_target()
        return self._outcome("refused" if plan.refused else "planned", plan)

    def apply(self, choice: RuleChoice = ALL, *, import_time: bool = False) -> PatchOutcome:
        plan, hook = self.plan(choice), self._hook()
        if plan.refused:
            return self._outcome("refused", plan)
        if import_time:
            if self._report().of("applied"):
                raise UserError(
                    f"the files in {self.package} are patched already",
                    "Not both at once. Restore the files: tritonwin patch revert",
                )
            there = install.find(self._hook_target())
            title = f"patch Triton in {self.package} when it is imported"
            driver = there is not None and there.driver
            journal, files = self.write_hook("patch-hook", title, choice, driver=driver)
            return self._outcome("applied", journal=journal, changed=files)
        if hook is not None:
            state = "lies damaged" if hook.damaged else "patches this Triton already,"
            raise UserError(
                f"an import hook {state} in {hook.folder}",
                "Take it out first: tritonwin patch revert",
            )
        if not plan.edits:
            return self._outcome("nothing", plan)
        return self._outcome("applied", plan, journal=self.carry_out(plan))

    def revert(self) -> PatchOutcome:
        """Undo what apply did, wherever it stands: applied, or cut off in the middle.

        Raises:
            UserError: a journal holds other changes too, or is not here.
        """
        hook = self._hook()
        if hook is not None:
            title = f"patch Triton in {self.package} no longer when it is imported"
            journal, files = self.take_from_hook("patch-hook", title, None, driver=hook.driver)
            return self._outcome("reverted", journal=journal, changed=files)
        with self.locked():
            reports, changed = self._revert_files()
            if any(report.state != "undone" for report in reports):
                conflicts = tuple(c for report in reports for c in report.conflicts)
                return self._outcome("refused", conflicts=conflicts)
            if not reports:
                return self._outcome("nothing")
            self._clear_helpers()
        return self._outcome("reverted", journal=reports[-1].id, changed=changed)

    def plan(self, choice: RuleChoice = ALL) -> PatchPlan:
        return make_plan(read_triton(self.package), choice, self.manifest())

    def manifest(self) -> Manifest | None:
        """The record of tritonwin's edits in the package, even if they are gone from there."""
        return read_manifest(self.store.root.parent, self.package)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold both names that the Triton may be known by."""
        with contextlib.ExitStack() as stack:
            for name in dict.fromkeys((self.owner, str(self.package))):
                stack.enter_context(self.store.lock(name, _WAIT))
            yield

    # -- files

    def carry_out(self, plan: PatchPlan) -> str:
        """Edit the files as planned; the id of the journal.

        Helper modules are named after their C source alone, so one that was built before the patch
        might be taken for good: a journal of its own removes them.

        Raises:
            UserError: another tritonwin is at work, or a file cannot be changed; nothing is, then.
        """
        name = f"Triton {plan.version}" if plan.version else "Triton"
        title = f"patch {name} in {self.package}"
        with self.locked():
            self._clear_helpers()
            with self._journal(title, action=ACTION, rules=[*plan.rules]) as journal:
                write_edits(journal, plan)
        return journal.header.id

    def _revert_files(self) -> tuple[list[UndoReport], tuple[str, ...]]:
        """Undo newest first, until one cannot be undone; the files, relative to the package."""
        reports = [
            undo(self.store, header.id)
            for header in self.store.unfinished(self.owner)
            if self._wrote(header, ACTION)
        ]
        files: dict[str, None] = {}
        while (manifest := self.manifest()) is not None:
            if not compare(manifest, self.package).ours:
                # a reinstall has restored everything already
                manifest_path(self.store.root.parent, self.package).unlink()
                break
            reports.append(self._undo_last(manifest))
            if reports[-1].state != "undone":
                break
            files |= dict.fromkeys(each.file for each in manifest.files)
        _drop_bytecode(self.package, files)
        return reports, tuple(files)

    def _undo_last(self, manifest: Manifest) -> UndoReport:
        identifier = manifest.journals[-1]
        header = next((each for each in self.store.journals() if each.id == identifier), None)
        if header is None:
            raise UserError(
                f"what {self.package} held before is not kept any more (journal {identifier})",
                "Install Triton again: that restores its own files.",
            )
        if not self._wrote(header, ACTION):
            raise UserError(
                f"the patch is part of a larger change ({header.title})",
                f"Undo all of it: tritonwin undo {header.id}",
            )
        report = preview(self.store, header.id)
        if report.conflicts:
            return report
        # what wrote the import hook alone lies beside the package
        hooks = [
            each.id for each in self.store.journals(self.owner)
            if any(self._wrote(each, action) for action in get_args(HookAction))
        ]  # fmt: skip
        return undo(self.store, header.id, apart=hooks)

    def _clear_helpers(self) -> None:
        if helpers := self.helpers():
            title = f"clear {len(helpers)} compiled helper modules of Triton"
            with self._journal(title) as journal:
                for folder in helpers:
                    journal.delete(folder)

    def _journal(self, title: str, **plan: Json) -> Journal:
        record: Json = {**plan, "package": str(self.package)} if plan else None
        return Journal.begin(self.store, target=self.owner, title=title, plan=record)

    def _wrote(self, header: Header, action: str) -> bool:
        """True for a journal of that action alone."""
        plan = self.store.plan(header.id)
        return isinstance(plan, dict) and plan.get("action") == action

    # -- the import hook

    def write_hook(
        self, action: HookAction, title: str, choice: RuleChoice | None, *, driver: bool
    ) -> tuple[str, tuple[str, ...]]:
        """Write the hook with these contents; the id of the journal and the files.

        Raises:
            UserError: nothing can be written where it belongs.
        """
        target = self._hook_target()
        with self.locked(), self._journal(title, action=action) as journal:
            files = install.write(journal, target, choice, driver=driver)
        return journal.header.id, tuple(map(str, files))

    def take_from_hook(
        self, action: HookAction, title: str, choice: RuleChoice | None, *, driver: bool
    ) -> tuple[str, tuple[str, ...]]:
        """Leave only these contents in the hook: undo what the action wrote last, or write it.

        Raises:
            UserError: the hook was changed by others since.
        """
        target = self._hook_target()
        while True:
            there = install.find(target)
            applied = [h for h in self.store.journals(self.owner) if h.state != "undone"]
            ours = applied and self._wrote(applied[-1], action)
            if not ours or there is None or there.damaged:
                return self.write_hook(action, title, choice, driver=driver)
            with self.locked():
                report = undo(self.store, applied[-1].id)
            if report.conflicts:
                conflict = report.conflicts[0]
                raise UserError(
                    f"{conflict.place} was changed since: {conflict.found}",
                    f"Keep that beside it: tritonwin undo {report.id} --force",
                )
            install.drop_kept(Path(there.folder))
            left = install.find(target)
            if (left and left.choice, bool(left and left.driver)) == (choice, driver):
                return report.id, tuple(
                    str(Path(there.folder, name)) for name in (HOOK, HOOK_START)
                )

    def find_hook(self) -> Hook | None:
        return install.find(self.target) if self.target else None

    def _hook(self) -> Hook | None:
        """The hook that applies rules, or is damaged; None for one with the driver alone."""
        there = self.find_hook()
        return there if there and (there.choice or there.damaged) else None

    def _hook_target(self) -> Interpreter:
        """The interpreter that a hook would start with.

        Raises:
            UserError: it is not known, or starts no hook.
        """
        if self.target is None:
            raise UserError(
                "the import hook belongs to a Python, and --triton names only a folder",
                "Name the Python: --python EXE",
            )
        if install.find(self.target) is None:
            install.place(self.target)
        return self.target

    # -- what is told

    def _report(self) -> Report:
        return examine(read_triton(self.package))

    def _outcome(
        self, status: PatchStatus, plan: PatchPlan | None = None, **more: Any
    ) -> PatchOutcome:
        """The outcome with the state after it; `more`: other fields of it."""
        report = self._report()
        notes = []
        if report.flavour == "fork" and status != "reverted":
            notes.append(_FORK)
        if status == "nothing" and plan is None and report.of("applied"):
            notes.append(_NOT_KEPT)
        if status in {"applied", "reverted"}:
            notes.append(_RESTART)
        if plan is not None:
            more |= {
                "changed": () if plan.refused else tuple(edit.file for edit in plan.edits),
                "refused": plan.refused,
                "skipped": plan.skipped,
                "unverified": tuple(edit.file for edit in plan.edits if not edit.known),
                "diff": plan.diff() if status == "planned" else None,
            }
        return PatchOutcome(
            **vars(report), status=status, hook=self._hook(), notes=tuple(notes), **more
        )


def of_folder(folder: Path) -> PatchSession:
    """The Triton whose package folder is named, or the folder above."""
    inside = folder / "triton"
    package = inside if is_file(inside / "runtime" / "build.py") else folder
    package = package.absolute()
    return PatchSession(package=package, owner=str(package), store=_store(Host.this_machine()))


def of_python(
    python: str | None,
    app: Path | None,
    timeout: float,
    may_start: Callable[[str], bool] = lambda _: False,
) -> PatchSession:
    """The Triton that an interpreter imports.

    Args:
        may_start: see `collect`.

    Raises:
        UserError: there is no such interpreter, or it has no Triton.
    """
    host = Host.this_machine(app)
    choice = find_target(host, python, app)
    starts = not choice.planted or may_start(choice.executable)
    examined = examine_target(choice.executable, host, timeout if starts else None)
    target = replace(examined, source=choice.source, chosen_by=choice.chosen_by)
    found = find_package(target, "triton")
    if found is None or not is_file(found / "__init__.py"):
        raise UserError(
            f"{target.executable} has no Triton",
            "Name the Python that has it: --python. patch also takes the folder: --triton DIR",
        )
    return PatchSession(
        package=found,
        owner=target.executable,
        store=_store(host),
        target=target,
        helpers=partial(helper_entries, target, host),
    )


def _store(host: Host) -> Store:
    return Store(data_folder(host.env) / "journal")


def helper_entries(target: Interpreter, host: Host) -> tuple[Path, ...]:
    """The entries of the caches that hold compiled helper modules of the target."""
    torch = read_torch(target, read_distributions(target))
    search = dll_search(target, torch, host)
    entries = read_entries(read_caches(target, host, search), target, search)
    return tuple(
        Path(e.path) for e in entries if e.kind == "helper" and e.helper and e.helper.usable
    )


def write_edits(journal: Journal, plan: PatchPlan) -> None:
    """Write what was planned, and the manifest. The caller holds the locks.

    Raises:
        JournalError: a file cannot be changed, or is not any more what the plan was made from.
    """
    data = journal.store.root.parent
    old = read_manifest(data, plan.package)
    if old and not compare(old, plan.package).ours:
        old = None  # a reinstall, or another version in the place of the one that was patched
    entries = {each.file: each for each in old.files} if old else {}
    for edit in plan.edits:
        if read_bytes(edit.path, SIZE_LIMIT) != edit.before:
            raise JournalError(
                f"{edit.path} was changed while it was being patched",
                "Try again when nothing else is at work on this Triton.",
            )
        journal.write(edit.path, edit.after)
        new, there = edit.hashes, entries.get(edit.file)
        if there:  # rules were applied to it before
            new = replace(new, before=there.before, rules=(*there.rules, *new.rules))
        entries[edit.file] = new
    manifest = Manifest(
        package=str(plan.package),
        tool_version=__version__,
        journals=(*(old.journals if old else ()), journal.header.id),
        files=tuple(entries.values()),
    )
    journal.write(manifest_path(data, plan.package), manifest.encode())
    _drop_bytecode(plan.package, [edit.file for edit in plan.edits])


def _drop_bytecode(package: Path, files: Collection[str]) -> None:
    """Delete what Python compiled from these files: not all of it is checked against the source.

    It is made again when it is needed, so that no journal has to remember it.
    """
    for file in files:
        if not file.endswith(".py"):
            continue
        path = package / file
        with contextlib.suppress(OSError):
            for compiled in path.parent.joinpath("__pycache__").glob(f"{path.stem}.*.pyc"):
                compiled.unlink()

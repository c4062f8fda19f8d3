"""One Triton, found by its folder or by its Python, and the four things that `patch` does to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.model import Interpreter
from tritonwin.facts.triton_facts import is_fork
from tritonwin.journal import Conflict, Store
from tritonwin.patch import hook_session, operations
from tritonwin.patch.disk import PatchPlan, make_plan
from tritonwin.patch.hook.install import Installed
from tritonwin.patch.model import PatchStatus, Report
from tritonwin.patch.sources import Tree, read_tree
from tritonwin.patch.status import examine
from tritonwin.system.data_folder import data_folder
from tritonwin.system.files import is_file
from tritonwin.system.host import Host

_HOOK_THERE = "an import hook patches this Triton already, in {folder}"
_RESTART = "Programs that are running keep the Triton that they loaded; start them anew."


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a command did, and how the rules stand after it.

    Attributes:
        changed: files that were changed, or with diff would be.
        conflicts: what somebody changed since, so that nothing was given back.
    """

    status: PatchStatus
    report: Report
    target: Interpreter | None
    plan: PatchPlan | None = None
    changed: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    hook: Installed | None = None
    journal: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def blocked(self) -> bool:
        """Something is missing without which no kernel compiles or launches."""
        missing = self.report.of("needed", "unknown")
        return self.hook is None and any(rule.need == "jit" for rule in missing)


@dataclass(frozen=True, kw_only=True)
class Session:
    """A Triton to work on.

    Attributes:
        target: None where only the folder is known.
        helpers: gives the entries of the caches that hold compiled helper modules of the target.
    """

    place: operations.Place
    target: Interpreter | None = None
    helpers: Callable[[], tuple[Path, ...]] = tuple

    def status(self) -> Outcome:
        return self._outcome("examined", notes=self._notes())

    def diff(
        self, only: Sequence[str] = (), *, allow_unknown: bool = False, import_time: bool = False
    ) -> Outcome:
        plan = self._plan(only, allow_unknown=allow_unknown)
        if import_time:
            hook_session.check(self.target)
        return self._planned(plan, "refused" if plan.refused else "planned")

    def apply(
        self, only: Sequence[str] = (), *, allow_unknown: bool = False, import_time: bool = False
    ) -> Outcome:
        plan = self._plan(only, allow_unknown=allow_unknown)
        hook = hook_session.find(self.target)
        if plan.refused:
            return self._planned(plan, "refused")
        if import_time:
            target = hook_session.check(self.target)
            if self._examined(plan.tree).of("applied"):
                raise UserError(
                    f"the files in {self.place.package} are patched already",
                    "Not both at once. Give the files back: tritonwin patch revert",
                )
            journal, files = hook_session.write(
                self.place, target, only, allow_unknown=allow_unknown
            )
            return self._outcome("applied", journal=journal, changed=files, notes=(_RESTART,))
        if hook is not None:
            raise UserError(
                _HOOK_THERE.format(folder=hook.folder), "Take it out first: tritonwin patch revert"
            )
        if not plan.edits:
            return self._planned(plan, "nothing")
        written = operations.apply(plan, self.place, self.helpers())
        done = self._planned(plan, "applied")
        return replace(done, journal=written, notes=(*done.notes, _RESTART))

    def revert(self) -> Outcome:
        hook = hook_session.find(self.target)
        if hook is not None and self.target is not None:
            journal, files = hook_session.remove(self.place, self.target, hook)
            return self._outcome("reverted", journal=journal, changed=files, notes=(_RESTART,))
        done = operations.revert(self.place)
        conflicts = tuple(c for report in done.reports for c in report.conflicts)
        if done.refused:
            return self._outcome("refused", conflicts=conflicts)
        if not done.reports:
            return self._outcome("nothing", notes=self._foreign_edits())
        with self.place.locked():
            operations.clear(self.helpers(), self.place)
        journal = done.reports[-1].id
        return self._outcome("reverted", journal=journal, changed=done.changed, notes=(_RESTART,))

    # -- inside

    def _plan(self, only: Sequence[str], *, allow_unknown: bool) -> PatchPlan:
        tree = read_tree(self.place.package)
        manifest = self.place.manifest()
        return make_plan(tree, only, allow_unknown=allow_unknown, manifest=manifest)

    def _examined(self, tree: Tree) -> Report:
        manifest = self.place.manifest()
        return examine(tree, {f.file: f.after for f in manifest.files} if manifest else {})

    def _outcome(
        self,
        status: PatchStatus,
        *,
        changed: tuple[str, ...] = (),
        conflicts: tuple[Conflict, ...] = (),
        journal: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> Outcome:
        return Outcome(
            status=status,
            report=self._examined(read_tree(self.place.package)),
            target=self.target,
            changed=changed,
            conflicts=conflicts,
            hook=hook_session.find(self.target),
            journal=journal,
            notes=notes,
        )

    def _planned(self, plan: PatchPlan, status: PatchStatus) -> Outcome:
        changed = () if plan.refused else tuple(edit.source.file for edit in plan.edits)
        return replace(self._outcome(status, changed=changed, notes=self._notes()), plan=plan)

    def _notes(self) -> tuple[str, ...]:
        package = self.place.package
        notes = []
        if is_fork(package):
            notes.append(
                "This is triton-windows: it carries its own support for Windows, and only what it "
                "lacks is offered."
            )
        if not any(is_file(package / "_C" / f"libtriton.{e}") for e in ("pyd", "so")):
            notes.append(
                "There is no libtriton in this folder: its sources can be patched, but it cannot "
                "run."
            )
        return tuple(notes)

    def _foreign_edits(self) -> tuple[str, ...]:
        if not self._examined(read_tree(self.place.package)).of("applied"):
            return ()
        note = (
            "The files carry edits of tritonwin, but what they were before is not kept here: "
            "install this Triton anew to get it back."
        )
        return (note,)


def of_folder(folder: Path) -> Session:
    """The Triton whose package folder is named.

    Raises:
        UserError: it is none.
    """
    inside = folder / "triton"
    package = inside if is_file(inside / "runtime" / "build.py") else folder
    package = package.absolute()
    return Session(place=place_of(package, str(package), Host.this_machine()))


def place_of(package: Path, target: str, host: Host) -> operations.Place:
    """The Triton in that folder, whose journals are those of `target`."""
    data = data_folder(host.env)
    return operations.Place(
        package=package, target=target, store=Store(data / "journal"), data=data
    )

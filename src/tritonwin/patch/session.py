"""One Triton, found by its folder or by its Python, and the four things that `patch` does to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.caches import read_caches, read_entries
from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.dlls.loading import dll_search
from tritonwin.facts.interpreters import find_target
from tritonwin.facts.packages import find_package
from tritonwin.facts.records import Interpreter
from tritonwin.facts.target import examine as examine_target
from tritonwin.facts.target import examine_files
from tritonwin.facts.torch_triton import is_fork, read_torch
from tritonwin.journal import Conflict, Store
from tritonwin.patch import operations
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.operations import PatchPlace
from tritonwin.patch.plan import examine, make_plan, read_triton
from tritonwin.patch.records import HookReport, PatchOutcome, PatchPlan, PatchStatus, Report
from tritonwin.system.data_folder import data_folder
from tritonwin.system.files import is_file
from tritonwin.system.host import Host

ALL = RuleChoice()
_RESTART = "Programs that are running keep the Triton that they loaded; restart them."


@dataclass(frozen=True, kw_only=True)
class PatchSession:
    """A Triton to work on.

    Attributes:
        target: None where only the folder is known.
        helpers: gives the entries of the caches that hold compiled helper modules of the target.
    """

    place: PatchPlace
    target: Interpreter | None = None
    helpers: Callable[[], tuple[Path, ...]] = tuple

    def status(self) -> PatchOutcome:
        return self._outcome("examined", notes=self._notes())

    def diff(self, choice: RuleChoice = ALL, *, import_time: bool = False) -> PatchOutcome:
        plan = self.plan(choice)
        if import_time:
            operations.hook_target(self.target)
        return self._planned(plan, "refused" if plan.refused else "planned")

    def apply(self, choice: RuleChoice = ALL, *, import_time: bool = False) -> PatchOutcome:
        plan = self.plan(choice)
        hook = operations.find_hook(self.target)
        if plan.refused:
            return self._planned(plan, "refused")
        if import_time:
            target = operations.hook_target(self.target)
            if self._report().of("applied"):
                raise UserError(
                    f"the files in {self.place.package} are patched already",
                    "Not both at once. Restore the files: tritonwin patch revert",
                )
            journal, files = operations.write_hook(self.place, target, choice)
            return self._outcome("applied", journal=journal, changed=files, notes=(_RESTART,))
        if hook is not None:
            raise UserError(
                f"an import hook patches this Triton already, in {hook.folder}",
                "Take it out first: tritonwin patch revert",
            )
        if not plan.edits:
            return self._planned(plan, "nothing")
        written = operations.apply(plan, self.place, self.helpers())
        done = self._planned(plan, "applied")
        return replace(done, journal=written, notes=(*done.notes, _RESTART))

    def revert(self) -> PatchOutcome:
        hook = operations.find_hook(self.target)
        if hook is not None and self.target is not None:
            journal, files = operations.remove_hook(self.place, self.target, hook)
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

    def plan(self, choice: RuleChoice = ALL) -> PatchPlan:
        return make_plan(read_triton(self.place.package), choice, self.place.manifest())

    # -- inside

    def _report(self) -> Report:
        return examine(read_triton(self.place.package), self.place.manifest())

    def _outcome(
        self,
        status: PatchStatus,
        *,
        changed: tuple[str, ...] = (),
        conflicts: tuple[Conflict, ...] = (),
        journal: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> PatchOutcome:
        hook = operations.find_hook(self.target)
        return PatchOutcome(
            status=status,
            report=self._report(),
            target=self.target,
            changed=changed,
            conflicts=conflicts,
            hook=HookReport(
                folder=str(hook.folder),
                only=tuple(hook.choice.only),
                starts=hook.starts,
                current=hook.current,
            )
            if hook and hook.choice
            else None,
            journal=journal,
            notes=notes,
        )

    def _planned(self, plan: PatchPlan, status: PatchStatus) -> PatchOutcome:
        changed = () if plan.refused else tuple(edit.file for edit in plan.edits)
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
        if not self._report().of("applied"):
            return ()
        note = (
            "The files carry edits of tritonwin, but what they were before is not kept here: "
            "install this Triton again to restore it."
        )
        return (note,)


def of_folder(folder: Path) -> PatchSession:
    """The Triton whose package folder is named, or the folder above."""
    inside = folder / "triton"
    package = inside if is_file(inside / "runtime" / "build.py") else folder
    package = package.absolute()
    return PatchSession(place=_place(package, str(package), Host.this_machine()))


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
    target = replace(
        examine_target(choice.executable, host, timeout)
        if not choice.planted or may_start(choice.executable)
        else examine_files(choice.executable, host),
        source=choice.source,
        chosen_by=choice.chosen_by,
    )
    found = find_package(target, "triton")
    if found is None or found.namespace:
        raise UserError(
            f"{target.executable} has no Triton",
            "Name the package folder itself, if it lies elsewhere: --triton DIR",
        )
    return PatchSession(
        place=_place(found.path, target.executable, host),
        target=target,
        helpers=partial(helper_entries, target, host),
    )


def helper_entries(target: Interpreter, host: Host) -> tuple[Path, ...]:
    """The entries of the caches that hold compiled helper modules of the target."""
    torch = read_torch(target, read_distributions(target))
    search = dll_search(target, torch, host)
    entries = read_entries(read_caches(target, host, search), target, search)
    return tuple(
        Path(e.path) for e in entries if e.kind == "helper" and e.helper and e.helper.usable
    )


def _place(package: Path, target: str, host: Host) -> PatchPlace:
    data = data_folder(host.env)
    return PatchPlace(package=package, target=target, store=Store(data / "journal"), data=data)

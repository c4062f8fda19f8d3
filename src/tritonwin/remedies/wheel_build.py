"""A build on this machine: planned with what pip can reach, carried out in its environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tritonwin.build import planner, runner
from tritonwin.build.git import logins_of
from tritonwin.build.order import Order, survey
from tritonwin.build.outcome import BuildOutcome, OnEvent
from tritonwin.build.plan import BuildPlan
from tritonwin.build.runner import RunContext
from tritonwin.build.source import SourceCache
from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.remedies.target_pip import find_pip
from tritonwin.support.pip import Pip
from tritonwin.system.files import is_folder
from tritonwin.system.host import Host


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The plan of an order, and what carries it out.

    Attributes:
        folders: of files that need not be fetched.
    """

    order: Order
    plan: BuildPlan
    facts: Facts
    host: Host
    pip: Callable[[], Pip]
    folders: tuple[Path, ...] = ()

    def make(
        self, plan: BuildPlan, *, resume: bool = False, on_event: OnEvent = lambda _: None
    ) -> BuildOutcome:
        """Build the wheel of a plan; raises as `runner.make` does."""
        return runner.make(plan, self._context(plan, on_event), resume=resume)

    def get_ready(self, on_event: OnEvent = lambda _: None) -> None:
        """Put everything of the plan into its place; raises as `runner.prepare` does."""
        runner.prepare(self.plan, self._context(self.plan, on_event))

    def unfinished(self) -> BuildPlan:
        """The plan of the build that was begun for this order.

        Raises:
            UserError: none was begun.
        """
        begun = runner.read_plan(self.plan.layout.plan)
        return begun.with_jobs(self.order.jobs) if self.order.jobs else begun

    def _context(self, plan: BuildPlan, on_event: OnEvent) -> RunContext:
        links = [word for folder in self.folders for word in ("--find-links", str(folder))]
        offline = self.order.offline
        return RunContext(
            cache=SourceCache(pip=self.pip(), folders=self.folders, offline=offline),
            host=self.host,
            logins=logins_of(self.order.source) if plan.source.kind == "git" else {},
            pip_options=(*(["--no-index"] if offline else []), *links),
            facts=self.facts,
            on_event=on_event,
        )


def prepare(order: Order, facts: Facts, host: Host, *, folders: Sequence[Path] = ()) -> Prepared:
    """Plan an order.

    Raises:
        UserError: no target, no such recipe, version or source, or no such folder of files.
    """
    missing = next((folder for folder in folders if not is_folder(folder)), None)
    if missing is not None:
        raise UserError(
            f"there is no folder {missing}",
            "Name the folder in which the files lie: --find-links DIR",
        )
    absolute = tuple(folder.absolute() for folder in folders)
    lists = [str(folder) for folder in absolute]

    @cache
    def pip() -> Pip:
        return find_pip(facts, lists)

    found = survey(order, facts, host, pip, lists=lists)
    return Prepared(
        order=order,
        plan=planner.plan(order, found),
        facts=facts,
        host=host,
        pip=pip,
        folders=absolute,
    )

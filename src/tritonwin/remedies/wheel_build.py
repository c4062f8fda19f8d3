"""A build on this machine: planned with what pip can reach, carried out in its environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tritonwin.build import planner
from tritonwin.build.depot import Depot
from tritonwin.build.environment import variables
from tritonwin.build.login import given
from tritonwin.build.make import Outcome, make
from tritonwin.build.model import BuildPlan
from tritonwin.build.order import Order
from tritonwin.build.runner import Setting, Tell
from tritonwin.build.state import read_plan
from tritonwin.build.survey import survey
from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.remedies.target_pip import find_pip
from tritonwin.support.download import DownloadError
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
        self, plan: BuildPlan, *, resume: bool = False, tell: Tell = lambda _: None
    ) -> Outcome:
        """Build the wheel of a plan; raises as `build.make` does."""
        links = [word for folder in self.folders for word in ("--find-links", str(folder))]
        setting = Setting(
            environment=variables(plan, self.host),
            depot=self.depot(),
            logins=given(self.order.source) if plan.source.kind == "git" else {},
            host=self.host,
            pip_options=(*(["--no-index"] if self.order.offline else []), *links),
            facts=self.facts,
            tell=tell,
        )
        return make(plan, setting, resume=resume)

    def unfinished(self) -> BuildPlan:
        """The plan of the build that was begun for this order.

        Raises:
            UserError: none was begun.
        """
        begun = read_plan(self.plan.layout.root)
        return begun.with_jobs(self.order.jobs) if self.order.jobs else begun

    def depot(self) -> Depot:
        return Depot(pip=self.pip(), folders=self.folders, offline=self.order.offline)

    def addresses(self) -> dict[str, str]:
        """Where the files of the plan can be fetched; without those that are found nowhere."""
        wanted = _fetched(self.plan)
        if not wanted:
            return {}
        depot = self.depot()
        return {
            file: address
            for project, file, url in wanted
            if (address := url or _address(depot, project, file))
        }


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


def _fetched(plan: BuildPlan) -> list[tuple[str, str, str | None]]:
    """Project, name and address of every file from the network; None: an index has it."""
    parts = (*(plan.cuda.parts if plan.cuda else ()), *plan.downloads)
    found = [(part.name, part.file, part.url) for part in parts]
    source = plan.source
    if source.kind == "sdist" and not {"/", "\\"} & set(source.location):
        found.append((plan.distribution, source.location, None))
    return found


def _address(depot: Depot, project: str, file: str) -> str | None:
    try:
        return depot.address(project, file)
    except DownloadError:
        return None

"""The planner's own plan, carried out in a folder of the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from world import PIP

from tritonwin.build import planner
from tritonwin.build.order import Order, survey
from tritonwin.build.records import BuildPlan
from tritonwin.build.source import BuildContext
from tritonwin.facts.collect import collect
from tritonwin.system.host import Host


def plan(target: Path, folder: Path, variables: dict[str, str], **order: Any) -> BuildPlan:
    """A plan for the target on this machine, with these variables set, below `folder`."""
    machine = Host.this_machine()
    data = {**machine.env.data, "TRITONWIN_HOME": str(folder), **variables}
    host = replace(machine, env=replace(machine.env, data=data))
    facts = collect(python=str(target), host=host)
    wanted = Order(root=folder, anyway=True, **order)
    context = BuildContext(host=host, pip=lambda: PIP)
    made = planner.plan(wanted, survey(wanted, facts, context))
    assert made.possible, made.refusals
    return made


def moved(made: BuildPlan, root: Path) -> BuildPlan:
    """The plan with another folder."""
    command = tuple(word.replace(made.root, str(root)) for word in made.command)
    return replace(made, root=str(root), command=command)

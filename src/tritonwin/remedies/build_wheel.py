"""Build a wheel that nobody publishes, and install it: the remedy where no wheel fits.

The plan is made when it is shown, by the planner of `tritonwin build`; hours of work are agreed to
with the rest of the fix. What the wheel replaces goes only when the wheel is there and proven.

Few repairs need a build, whose modules are a third of all that `fix` would import.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tritonwin.facts.records import Facts
from tritonwin.journal.tree import file_hash
from tritonwin.remedies import target_pip
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.distributions import put_in_place, removable
from tritonwin.remedies.plan import BuildWheel, CannotRemedyError, ChangedSincePlanError
from tritonwin.remedies.target_pip import find_pip
from tritonwin.support.versions import parse
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.codec import to_json
from tritonwin.system.host import Host
from tritonwin.system.toml import shipped

if TYPE_CHECKING:
    from tritonwin.build.order import Order
    from tritonwin.build.records import BuildPlan, Event
    from tritonwin.build.source import BuildContext

    Prepared: TypeAlias = tuple[BuildPlan, BuildContext]


def prepare(
    order: Order,
    facts: Facts,
    host: Host,
    *,
    folders: Sequence[Path] = (),
    from_snapshot: bool = False,
) -> Prepared:
    """Plan an order; the plan, and the means of carrying it out.

    Args:
        facts: of this machine, or of another one, `from_snapshot`.
        folders: of files that need not be fetched.

    Raises:
        UserError: no target, no such recipe, version or source.
    """
    from tritonwin.build import order as orders
    from tritonwin.build import planner
    from tritonwin.build.source import BuildContext

    absolute = tuple(folder.absolute() for folder in folders)
    context = BuildContext(
        pip=cache(lambda: find_pip(facts, [str(folder) for folder in absolute])),
        host=host,
        folders=absolute,
        offline=order.offline,
        facts=facts,
    )
    machine = orders.survey(order, facts, context, elsewhere=from_snapshot)
    return planner.plan(order, machine), context


def recipe_for(distribution: str) -> str | None:
    """The recipe that makes this distribution for a torch, and has its name; None: there is none.

    A Triton is not built in passing: which one fits is the question, not how to make it.
    """
    file = f"recipes/{distribution}.toml"
    if not files("tritonwin.build").joinpath(file).is_file():
        return None
    recipe = shipped("tritonwin.build", file)  # without an import of the builds
    made = recipe["distribution"] == distribution and recipe["needs_torch"]
    return distribution if made else None


def plan_build(context: PlanContext, *, distribution: str) -> BuildWheel:
    """Plan a build; raises CannotRemedyError where it is refused.

    Args:
        distribution: its normalised name.
    """
    from tritonwin.build.order import Order

    name = recipe_for(distribution)
    if name is None:
        raise CannotRemedyError(f"there is no recipe that builds {distribution}")
    if context.offline:
        raise CannotRemedyError(
            "its source may not be fetched to build it", f"With a network: tritonwin build {name}"
        )
    # that no wheel fits is known already
    made, means = prepare(Order(recipe=name, anyway=True), context.facts, context.host)
    if not made.possible:
        refusal = made.refusals[0]
        raise CannotRemedyError(f"a build is refused: {refusal.message}", refusal.help)
    hours = f"about {made.seconds / 3600:.1f} hours" if made.seconds else "hours"
    memory = f"up to {made.memory.bound / 2**30:.0f} GiB of memory"
    installed = [d for d in context.facts.distributions if d.name == distribution][:1]
    going = removable(installed, context.target)
    digest = hashlib.sha256(json.dumps(to_json(made)).encode()).hexdigest()
    context.builds[digest] = made, means
    return BuildWheel(
        distribution=distribution,
        version=made.version,
        plan=digest,
        what=f"build {distribution} {made.version} from source and install it",
        why="no wheel fits",
        removes=tuple(each.location for each in installed),
        stays=tuple(map(str, going.stays)),
        note=f"The build takes {hours} with {made.jobs} jobs, {memory}, and fetches its source.",
    )


def apply_build(change: BuildWheel, context: ApplyContext) -> None:
    """Build what was planned, lay it out, and put it into place.

    Raises:
        ChangedSincePlanError: this process did not make the plan.
        UserError: the build fails; nothing of the target was changed.
    """
    prepared = context.builds.get(change.plan)
    if prepared is None:
        raise ChangedSincePlanError(f"the build of {change.distribution} was planned elsewhere")
    from tritonwin.build import runner

    def on_event(event: Event) -> None:
        if isinstance(event, str):
            context.say(event)
        else:
            context.progress(event.done, event.total)

    plan, means = prepared
    outcome = runner.make(plan, replace(means, on_event=on_event))
    if outcome.wheel is None or not outcome.proven:
        raise CannotRemedyError(
            f"{change.distribution} {change.version} could not be built",
            f"Its log says why: tritonwin explain {outcome.log}",
        )
    wheel = FileSource(
        name=change.distribution,
        version=str(parse(change.version) or change.version),
        location=outcome.wheel,
        sha256=file_hash(Path(outcome.wheel)),
    )
    root = context.scratch / "built"
    target_pip.stage(context.pip(), [wheel], root, context.progress)
    put_in_place(change, replace(context, staged=root))

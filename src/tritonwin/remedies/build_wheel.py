"""Build a wheel that nobody publishes, and install it: the remedy where no wheel fits.

The plan is made when it is shown, by the planner of `tritonwin build`; hours of work are agreed to
with the rest of the fix. What the wheel replaces goes only when the wheel is there and proven.

Few repairs need a build, whose modules are a third of all that `fix` would import.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from tritonwin.journal.tree import file_hash
from tritonwin.remedies import target_pip
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.distributions import put_in_place, removable
from tritonwin.remedies.plan import BuildWheel, CannotRemedyError, ChangedSincePlanError, FileSource
from tritonwin.support.versions import parse
from tritonwin.system.codec import to_json

if TYPE_CHECKING:
    from tritonwin.build.plan import BuildPlan


def recipe_for(distribution: str) -> str | None:
    """The recipe that makes this distribution for a torch; None where there is none.

    A Triton is not built in passing: which one fits is the question, not how to make it.
    """
    from tritonwin.build import recipe

    recipes = (recipe.load(name) for name in recipe.names())
    return next((r.name for r in recipes if r.distribution == distribution and r.needs_torch), None)


def plan_build(context: PlanContext, *, distribution: str) -> BuildWheel:
    """Plan a build; raises CannotRemedyError where it is refused.

    Args:
        distribution: its normalised name.
    """
    from tritonwin.build.order import Order
    from tritonwin.remedies.wheel_build import prepare

    name = recipe_for(distribution)
    if name is None:
        raise CannotRemedyError(f"there is no recipe that builds {distribution}")
    if context.offline:
        raise CannotRemedyError(
            "its source may not be fetched to build it", f"With a network: tritonwin build {name}"
        )
    # that no wheel fits is known already
    prepared = prepare(Order(recipe=name, anyway=True), context.facts, context.host)
    made = prepared.plan
    if not made.possible:
        refusal = made.refusals[0]
        raise CannotRemedyError(f"a build is refused: {refusal.message}", refusal.help)
    hours = f"about {made.seconds / 3600:.1f} hours" if made.seconds else "hours"
    memory = f"up to {made.memory.bound / 2**30:.0f} GiB of memory"
    installed = context.facts.distribution(distribution)
    removes, stays = removable([installed] if installed else [], context.target)
    digest = _digest(made)
    context.builds[digest] = prepared
    return BuildWheel(
        distribution=distribution,
        version=made.version,
        plan=digest,
        what=f"build {distribution} {made.version} from source and install it",
        why="no wheel fits",
        removes=removes,
        stays=stays,
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
    from tritonwin.build.outcome import Event

    def on_event(event: Event) -> None:
        if isinstance(event, str):
            context.say(event)
        else:
            context.progress(event.done, event.total)

    outcome = prepared.make(prepared.plan, on_event=on_event)
    if outcome.wheel is None or not outcome.proven:
        raise CannotRemedyError(
            f"{change.distribution} {change.version} could not be built",
            f"Its log says why: tritonwin explain {outcome.log}",
        )
    wheel = FileSource(
        name=change.distribution,
        version=str(parse(change.version) or change.version),
        location=str(outcome.wheel),
        sha256=file_hash(outcome.wheel),
    )
    root = context.scratch / "built"
    target_pip.stage(context.pip(), [wheel], root, context.progress)
    put_in_place(change, root, context)


def _digest(plan: BuildPlan) -> str:
    return hashlib.sha256(json.dumps(to_json(plan)).encode()).hexdigest()

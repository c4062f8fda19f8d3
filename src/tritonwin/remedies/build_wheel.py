"""Build a wheel that nobody publishes, and install it: the remedy where no wheel fits.

The plan is made when it is shown, by the planner of `tritonwin build`; hours of work are agreed to
with the rest of the fix. What the wheel replaces goes only when the wheel is there and proven.

Few repairs need a build, whose modules are a third of all that `fix` would import.
"""

from __future__ import annotations

from collections.abc import Mapping

from tritonwin.facts.collect import collect
from tritonwin.journal.tree import file_hash
from tritonwin.remedies import distributions, staging
from tritonwin.remedies.owners import leave_to_conda
from tritonwin.remedies.plan import CannotRemedyError, Change, Source
from tritonwin.remedies.remedy import Means, Remedy, Work
from tritonwin.remedies.target_pip import find_pip
from tritonwin.support.versions import parse
from tritonwin.system.host import Host

ACTION = "build-wheel"


def recipe_for(distribution: str) -> str | None:
    """The recipe that makes this distribution for a torch; None where there is none.

    A Triton is not built in passing: which one fits is the question, not how to make it.
    """
    from tritonwin.build import recipe

    recipes = (recipe.load(name) for name in recipe.names())
    return next((r.name for r in recipes if r.distribution == distribution and r.needs_torch), None)


def plan(arguments: Mapping[str, str], means: Means) -> Change:
    """What a build would do; raises CannotRemedyError where it is refused.

    Args:
        arguments: "distribution", its normalised name.
    """
    from tritonwin.build.order import Order
    from tritonwin.remedies.wheel_build import prepare

    distribution = arguments["distribution"]
    name = recipe_for(distribution)
    if name is None:
        raise CannotRemedyError(f"there is no recipe that builds {distribution}")
    if means.offline:
        raise CannotRemedyError(
            "its source may not be fetched to build it", f"With a network: tritonwin build {name}"
        )
    # that no wheel fits is known already
    made = prepare(Order(recipe=name, anyway=True), means.facts, means.host).plan
    if not made.possible:
        refusal = made.refusals[0]
        raise CannotRemedyError(f"a build is refused: {refusal.message}", refusal.help)
    hours = f"about {made.seconds / 3600:.1f} hours" if made.seconds else "hours"
    memory = f"up to {made.memory.bound / 2**30:.0f} GiB of memory"
    installed = means.facts.distribution(distribution)
    leave_to_conda([installed] if installed else [], means.target)
    return Change(
        action=ACTION,
        arguments={"distribution": distribution, "version": made.version},
        what=f"build {distribution} {made.version} from source and install it",
        why="no wheel fits",
        removes=(installed.location,) if installed else (),
        note=f"The build takes {hours} with {made.jobs} jobs, {memory}, and fetches its source.",
    )


def apply(change: Change, work: Work) -> None:
    """Build, lay out, and put into place.

    Raises:
        UserError: the build fails; nothing of the target was changed.
    """
    from tritonwin.build.order import Order
    from tritonwin.build.outcome import Progress
    from tritonwin.remedies.wheel_build import prepare

    distribution, version = change.arguments["distribution"], change.arguments["version"]
    host = Host.this_machine()
    facts = collect(python=work.target.executable, host=host)
    order = Order(recipe=recipe_for(distribution) or distribution, version=version, anyway=True)
    prepared = prepare(order, facts, host)

    def tell(event: str | Progress) -> None:
        if isinstance(event, str):
            work.listener.say(event)
        else:
            work.listener.progress(event.done, event.total)

    outcome = prepared.make(prepared.plan, tell=tell)
    if outcome.wheel is None or not outcome.proven:
        raise CannotRemedyError(
            f"{distribution} {version} could not be built",
            f"Its log says why: tritonwin explain {outcome.log}",
        )
    wheel = Source(
        name=distribution,
        version=str(parse(version) or version),
        location=str(outcome.wheel),
        sha256=file_hash(outcome.wheel),
    )
    root = work.scratch / "built"
    staging.stage(find_pip(facts, ()), [wheel], root, work.listener.progress)
    distributions.put_in_place(root, change.removes, work)


REMEDY = Remedy(plan=plan, apply=apply, rank=36)

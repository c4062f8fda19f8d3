"""Problems to a plan: every remedy once, in an order in which none undoes another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.facts.packages import knowledge
from tritonwin.problems import catalogue
from tritonwin.problems.records import Action, Problem
from tritonwin.remedies import build_wheel, distributions, python_files, triton_files
from tritonwin.remedies.apply import KINDS
from tritonwin.remedies.context import PlanContext
from tritonwin.remedies.distributions import NothingFitsError
from tritonwin.remedies.plan import (
    ApplyPatch,
    CannotRemedyError,
    Change,
    InstallWheels,
    Plan,
    Unsolved,
    need_rights,
)

# by the name that an action has in the catalogue
PLAN = {change.action: kind.plan for change, kind in KINDS.items() if kind.plan}
# The actions that are planned together, each with "requirement"; what others rest on comes first.
INSTALLS = ("install-torch", InstallWheels.action)

_ORDER = list(KINDS)


def make_plan(problems: Sequence[Problem], context: PlanContext) -> Plan:
    """A plan that solves as many of the problems as can be solved here.

    A problem whose remedies cannot all be planned is left out whole: half a repair may leave less
    than there was. It stands among the unsolved ones with the reason.

    Raises:
        CannotRemedyError: there is no target.
    """
    executable = context.target.executable
    unsolved: list[Unsolved] = []
    changes: list[Change] = []
    installs: dict[str, list[Action]] = {}
    for problem in problems:
        asked = [action for action in problem.actions if action.name in INSTALLS]
        try:
            usual = list(_changes(problem, context))
        except UserError as error:
            usual, failed = [], [_left(problem.id, error)]
        else:
            failed = []
        if not problem.actions:
            by_hand = " ".join([problem.remedy.summary, *problem.remedy.commands])
            reason = "this has to be done by hand"
            failed.append(Unsolved(problem=problem.id, reason=reason, help=by_hand))
        instead = [] if asked else triton_files.instead_of(problem, usual, context)
        if not instead:
            unsolved += failed
        for change in instead or usual:
            _join(changes, change, problem)
        if asked and not failed:
            installs[problem.id] = asked
    if installs:
        changes, left = _with_installs(changes, installs, context)
        for each in left:
            (problem,) = (p for p in problems if p.id == each.problem)
            instead = triton_files.instead_of(problem, [], context)
            unsolved += [] if instead else [each]
            for change in instead:
                _join(changes, change, problem)
    tritons = set(knowledge().triton)
    wheels = {s.name for c in changes if isinstance(c, InstallWheels) for s in c.sources}
    # a patch was planned for the Triton that the same plan replaces
    patches = [c for c in changes if isinstance(c, ApplyPatch) and tritons & wheels]
    changes = [change for change in changes if change not in patches]
    why = "another Triton is installed first; it may need no patch"
    unsolved += (Unsolved(problem=p, reason=why) for patch in patches for p in patch.problems)
    if changes and python_files.site_is_hidden(context.target):
        # without it the proof of the other changes would fail: Triton is there and not found
        answered = dict.fromkeys(p for change in changes for p in change.problems)
        changes.append(replace(python_files.plan_site(context), problems=tuple(answered)))
    ordered = sorted(changes, key=lambda change: _ORDER.index(type(change)))
    return Plan(target=executable, changes=tuple(ordered), unsolved=tuple(unsolved))


def _changes(problem: Problem, context: PlanContext) -> Iterator[Change]:
    """The changes of a problem that can be planned by themselves."""
    for action in problem.actions:
        if action.name not in INSTALLS:
            planned = PLAN[action.name](context, **action.arguments)
            for change in planned if isinstance(planned, tuple) else (planned,):
                # refused here, it does not take the rest of the plan down with it
                need_rights(change, context.facts)
                yield change


def _join(changes: list[Change], change: Change, problem: Problem) -> None:
    """Add the change, or add the problem to the same change that is there."""
    for number, there in enumerate(changes):
        if replace(there, problems=(), why=change.why) == change:
            if problem.id not in there.problems:
                changes[number] = replace(there, problems=(*there.problems, problem.id))
            return
    changes.append(replace(change, problems=(problem.id,), why=change.why or problem.title))


def _left(problem: str, error: UserError) -> Unsolved:
    return Unsolved(problem=problem, reason=str(error), help=error.help)


def _with_installs(
    changes: list[Change], installs: Mapping[str, list[Action]], context: PlanContext
) -> tuple[list[Change], list[Unsolved]]:
    """Add the one change that installs everything; without it, what was to go before it stays.

    Args:
        installs: the actions by the problem that asks for them.
    """
    asking = sorted(installs, key=lambda problem: INSTALLS.index(installs[problem][0].name))
    actions = [action for problem in asking for action in installs[problem]]
    try:
        change = _install_or_build(actions, context)
        need_rights(change, context.facts)
    except UserError as error:
        kept = [c for c in changes if not set(c.problems) <= set(installs)]
        return kept, [_left(problem, error) for problem in asking]
    install = replace(
        change,
        problems=tuple(asking),
        why="; ".join(catalogue.load().entry(problem).title for problem in asking),
    )
    return [*changes, install], []


def _install_or_build(actions: Sequence[Action], context: PlanContext) -> Change:
    """Wheels for everything; a build where the one thing that is asked for has none.

    Raises:
        UserError: neither is possible here.
    """
    try:
        return distributions.plan_install(actions, context)
    except NothingFitsError as error:
        asked = {canonicalize_name(Requirement(a.arguments["requirement"]).name) for a in actions}
        alone = len(asked) == 1 and asked == set(error.missing)
        if not alone or build_wheel.recipe_for(error.missing[0]) is None:
            raise
        try:
            return build_wheel.plan_build(context, distribution=error.missing[0])
        except UserError as refused:
            raise CannotRemedyError(f"{error}; {refused}", refused.help or error.help) from None

"""Problems to a plan: every remedy once, in an order in which none undoes another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.facts.packages import knowledge
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
    # one change installs everything
    asking = [p for p in problems if any(a.name == InstallWheels.action for a in p.actions)]
    groups = [[problem] for problem in problems if problem not in asking]
    for group in [*groups, asking] if asking else groups:
        failed: UserError | None = None
        try:
            if group is asking:
                actions = [action for problem in asking for action in problem.actions]
                why = "; ".join(problem.title for problem in asking)
                usual = [replace(_install_or_build(actions, context), why=why)]
            else:
                usual = _changes(group[0], context)
            for change in usual:
                need_rights(change, context.facts)
        except UserError as error:
            usual, failed = [], error
        for problem in group:
            in_python = failed is not None or group is not asking
            instead = triton_files.instead_of(problem, usual, context) if in_python else ()
            if failed is not None and not instead:
                left = Unsolved(problem=problem.id, reason=str(failed), help=failed.help)
                unsolved.append(left)
            for change in instead or usual:
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


def _changes(problem: Problem, context: PlanContext) -> list[Change]:
    """The changes of a problem that can be planned by itself. Raises UserError."""
    if not problem.actions:
        by_hand = " ".join([problem.remedy.summary, *problem.remedy.commands])
        raise CannotRemedyError("this has to be done by hand", by_hand)
    changes: list[Change] = []
    for action in problem.actions:
        planned = PLAN[action.name](context, **action.arguments)
        changes += planned if isinstance(planned, tuple) else (planned,)
    return changes


def _join(changes: list[Change], change: Change, problem: Problem) -> None:
    """Add the change, or add the problem to the same change that is there."""
    for number, there in enumerate(changes):
        if replace(there, problems=(), why=change.why) == change:
            if problem.id not in there.problems:
                changes[number] = replace(there, problems=(*there.problems, problem.id))
            return
    changes.append(replace(change, problems=(problem.id,), why=change.why or problem.title))


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

"""Problems to a plan: every remedy once, in an order in which none undoes another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.problems import catalogue
from tritonwin.problems.records import Action, Problem
from tritonwin.remedies import build_wheel, distributions, site
from tritonwin.remedies.actions import REMEDIES
from tritonwin.remedies.distributions import NothingFitsError
from tritonwin.remedies.plan import CannotRemedyError, Change, Plan, Unsolved
from tritonwin.remedies.remedy import Means

_INSTALLS = ("install-torch", "install-distribution")


def make_plan(problems: Sequence[Problem], means: Means) -> Plan:
    """A plan that solves as many of the problems as can be solved here.

    A problem whose remedies cannot all be planned is left out whole: half a repair may leave less
    than there was. It stands among the unsolved ones with the reason.

    Raises:
        CannotRemedyError: there is no target.
    """
    executable = means.target.executable
    unsolved: list[Unsolved] = []
    changes: dict[str, Change] = {}
    for problem in problems:
        try:
            found = list(_changes(problem, means))
        except UserError as error:
            unsolved.append(Unsolved(problem=problem.id, reason=str(error), help=error.help))
            continue
        if not problem.actions:
            unsolved.append(_by_hand(problem))
        for change in found:
            _join(changes, change, problem)
    installs = _installs(problems, {u.problem for u in unsolved})
    changes, failed = _with_installs(changes, installs, means)
    if changes and site.needed(means.target):
        changes = {**changes, "site": _see_packages(changes.values(), means)}
    ordered = sorted(changes.values(), key=lambda c: REMEDIES[c.action].rank)
    return Plan(target=executable, changes=tuple(ordered), unsolved=(*unsolved, *failed))


def _changes(problem: Problem, means: Means) -> Iterable[Change]:
    """The changes of a problem that can be planned by themselves."""
    for action in problem.actions:
        remedy = REMEDIES.get(action.name)
        if remedy is None:
            raise CannotRemedyError(
                f"tritonwin cannot do this yet: {action.name}", problem.remedy.summary
            )
        if remedy.plan is not None:
            yield _permitted(remedy.plan(action.arguments, means), means)


def _permitted(change: Change, means: Means) -> Change:
    """The change itself; refused here, it does not take the rest of the plan down with it."""
    if change.admin and means.facts.system.admin is False:
        raise CannotRemedyError(
            f"this needs administrator rights: {change.what}",
            "Run tritonwin fix in a terminal started as administrator.",
        )
    return change


def _join(changes: dict[str, Change], change: Change, problem: Problem) -> None:
    """Add the change, or add the problem to the same change that is there."""
    key = f"{change.action} {sorted(change.arguments.items())}"
    there = changes.get(key)
    if there is None:
        changes[key] = replace(change, problems=(problem.id,), why=change.why or problem.title)
    elif problem.id not in there.problems:
        changes[key] = replace(there, problems=(*there.problems, problem.id))


def _by_hand(problem: Problem) -> Unsolved:
    return Unsolved(
        problem=problem.id,
        reason="this has to be done by hand",
        help=" ".join([problem.remedy.summary, *problem.remedy.commands]),
    )


def _installs(problems: Sequence[Problem], without: set[str]) -> dict[str, list[Action]]:
    """What is to be installed, by the problem that asks for it, torch first."""
    wanted = {
        p.id: [a for a in p.actions if a.name in _INSTALLS] for p in problems if p.id not in without
    }
    asking = {problem: actions for problem, actions in wanted.items() if actions}
    torch_first = sorted(asking, key=lambda p: _INSTALLS.index(asking[p][0].name))
    return {problem: asking[problem] for problem in torch_first}


def _with_installs(
    changes: dict[str, Change], installs: dict[str, list[Action]], means: Means
) -> tuple[dict[str, Change], tuple[Unsolved, ...]]:
    """Add the one change that installs everything; without it, what was to go before it stays."""
    if not installs:
        return changes, ()
    actions = [action for each in installs.values() for action in each]
    try:
        change = _permitted(_install_or_build(actions, means), means)
    except UserError as error:
        failed = tuple(
            Unsolved(problem=problem, reason=str(error), help=error.help) for problem in installs
        )
        kept = {k: c for k, c in changes.items() if not set(c.problems) <= set(installs)}
        return kept, failed
    added = dict(changes)
    why = "; ".join(catalogue.load().entry(problem).title for problem in installs)
    added["install"] = replace(change, problems=tuple(installs), why=why)
    return added, ()


def _install_or_build(actions: Sequence[Action], means: Means) -> Change:
    """Wheels for everything; a build where the one thing that is asked for has none.

    Raises:
        UserError: neither is possible here.
    """
    try:
        return distributions.plan_install(actions, means)
    except NothingFitsError as error:
        asked = {canonicalize_name(Requirement(a.arguments["requirement"]).name) for a in actions}
        alone = len(asked) == 1 and asked == set(error.missing)
        if not alone or build_wheel.recipe_for(error.missing[0]) is None:
            raise
        try:
            return build_wheel.plan({"distribution": error.missing[0]}, means)
        except UserError as refused:
            raise CannotRemedyError(f"{error}; {refused}", refused.help or error.help) from None


def _see_packages(changes: Iterable[Change], means: Means) -> Change:
    """Without it the proof of the other changes would fail: Triton is there and not found."""
    problems = dict.fromkeys(problem for change in changes for problem in change.problems)
    return replace(site.plan({}, means), problems=tuple(problems))

"""Set or unset an environment variable where it is stored; in this process it is only overlaid."""

from __future__ import annotations

from collections.abc import Mapping

from tritonwin.facts.model import Variable
from tritonwin.facts.variables import STORED
from tritonwin.journal import RegistryValue
from tritonwin.remedies.plan import CannotRemedyError, Change, Plan
from tritonwin.remedies.remedy import Means, Remedy, Work
from tritonwin.system.host import Environment


def _plan_set(arguments: Mapping[str, str], means: Means) -> Change:
    name, value = arguments["variable"], arguments["value"]
    stored = _stored(name, means)
    # a user's variable comes before the machine's, so that one need not be touched
    return Change(
        action="set-variable",
        arguments={"variable": name, "value": value, "scopes": "user"},
        what=f'set {name} to "{value}" for this user',
        why="",
        note=_console(f"set {name}={value}", [*stored, *_of_process(name, means)], value),
    )


def _plan_unset(arguments: Mapping[str, str], means: Means) -> Change:
    name = arguments["variable"]
    scopes = [v.scope for v in _stored(name, means)]
    if "machine" in scopes and not means.machine_wide:
        raise CannotRemedyError(
            f"{name} is set for all users of this machine",
            "Run fix with --machine-wide in a terminal started as administrator.",
        )
    where = {
        (): "in what tritonwin starts",
        ("user",): "for this user",
        ("machine",): "for all users",
    }.get(tuple(scopes), "for this user and for all users")
    return Change(
        action="unset-variable",
        arguments={"variable": name, "scopes": ",".join(scopes)},
        what=f"unset {name} {where}",
        why="",
        admin="machine" in scopes,
        note=_console(f"set {name}=", _of_process(name, means), None)
        if scopes
        else f"{name} is stored nowhere: this console, or what started it (a .bat file), sets it. "
        f"Take it out there, or start through: tritonwin run",
    )


def _apply(change: Change, work: Work) -> None:
    value = change.arguments.get("value")
    new = None if value is None else RegistryValue(kind="REG_SZ", data=value)
    scopes = change.arguments["scopes"].split(",")
    for key in (key for scope, key in STORED.items() if scope in scopes):
        work.journal.set_value(key, change.arguments["variable"], new)


def environment_after(plan: Plan, environment: Environment) -> Environment:
    """The variables as a program started after the plan will see them."""
    data = dict(environment.data)
    for change in plan.changes:
        if change.action not in {"set-variable", "unset-variable"}:
            continue
        name = change.arguments["variable"].upper()
        data = {k: v for k, v in data.items() if k.upper() != name}
        if "value" in change.arguments:
            data[change.arguments["variable"]] = change.arguments["value"]
    return Environment(data, windows=environment.windows)


def _stored(name: str, means: Means) -> list[Variable]:
    return [v for v in means.facts.variables if _same(v, name) and v.scope != "process"]


def _of_process(name: str, means: Means) -> list[Variable]:
    return [v for v in means.facts.variables if _same(v, name) and v.scope == "process"]


def _same(variable: Variable, name: str) -> bool:
    return variable.name.upper() == name.upper()


def _console(command: str, seen: list[Variable], wanted: str | None) -> str | None:
    """What is needed where the old value is already in a console's memory."""
    if all(v.value == wanted for v in seen):
        return None
    return f"Consoles that are open keep the old value: open a new one, or type: {command}"


SET = Remedy(plan=_plan_set, apply=_apply, rank=10)
UNSET = Remedy(plan=_plan_unset, apply=_apply, rank=10)

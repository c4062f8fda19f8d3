"""Environment variables and long paths: stored in the registry, overlaid in this process."""

from __future__ import annotations

from pathlib import PureWindowsPath

from tritonwin.facts.records import Facts
from tritonwin.facts.system import FILE_SYSTEM, STORED, known
from tritonwin.journal import RegistryValue
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import (
    AllowLongPaths,
    CannotRemedyError,
    Plan,
    SetVariable,
    StoredScope,
)
from tritonwin.system.host import Environment, merged
from tritonwin.system.registry import Registry
from tritonwin.system.winapi import in_ascii

CACHES = {"TRITON_CACHE_DIR": "t", "TORCHINDUCTOR_CACHE_DIR": "i"}

_CONSOLES = "Consoles that are open keep the old value: open a new one."
_WHERE: dict[StoredScope, str] = {"user": "for this user", "machine": "for all users"}


def plan_variable(context: PlanContext, *, variable: str, value: str | None = None) -> SetVariable:
    if value is not None:
        # a user's variable comes before the machine's, which need not be touched
        what = f'set {variable} to "{value}" for this user'
        return SetVariable(variable=variable, value=value, what=what, note=_CONSOLES)
    found = (v for v in context.facts.variables if v.name.upper() == variable.upper())
    scopes = tuple(v.scope for v in found if v.scope != "process")
    if "machine" in scopes and not context.machine_wide:
        raise CannotRemedyError(
            f"{variable} is set for all users of this machine",
            "Run fix with --machine-wide in a terminal started as administrator.",
        )
    return SetVariable(
        variable=variable,
        value=None,
        scopes=scopes,
        what=f"unset {variable} "
        + (" and ".join(_WHERE[scope] for scope in scopes) or "in what tritonwin starts"),
        admin="machine" in scopes,
        note=_CONSOLES
        if scopes
        else f"{variable} is stored nowhere: this console, or what started it (a .bat file), sets "
        f"it. Take it out there, or start through: tritonwin run",
    )


def apply_variable(change: SetVariable, context: ApplyContext) -> None:
    new = None if change.value is None else RegistryValue(data=change.value)
    for scope in change.scopes:
        context.journal.set_value(STORED[scope], change.variable, new)


def plan_long_paths(context: PlanContext) -> AllowLongPaths | tuple[SetVariable, ...]:
    """Allow long paths; without administrator rights, short cache folders instead."""
    if context.facts.system.admin is not False:
        return AllowLongPaths(
            what="allow long paths in Windows",
            admin=True,
            note="Programs that are running see it only after they are started again.",
        )
    folder = short_folder(context.facts)
    return tuple(
        SetVariable(
            variable=name,
            value=str(folder / end),
            what=f"set {name} to {folder / end}, where paths stay short",
            note="As administrator, tritonwin would allow long paths in Windows instead.",
        )
        for name, end in CACHES.items()
    )


def apply_long_paths(change: AllowLongPaths, context: ApplyContext) -> None:
    del change
    one = RegistryValue(kind="REG_DWORD", data=1)
    context.journal.set_value(FILE_SYSTEM, "LongPathsEnabled", one)


def short_folder(facts: Facts) -> PureWindowsPath:
    """A folder with a short path that the user may write to.

    Raises:
        CannotRemedyError: the place for temporary files is not known, or has no name in ASCII.
    """
    by_hand = "Set TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR by hand."
    if not facts.system.temp:
        raise CannotRemedyError("the folder for temporary files is not known", by_hand)
    # ...\AppData\Local\Temp is the user's own; files in it may be cleaned away at any time
    parent = in_ascii(PureWindowsPath(facts.system.temp).parent)
    if parent is None:
        raise CannotRemedyError(
            "Triton takes a cache folder from a variable only if its path is in ASCII", by_hand
        )
    return PureWindowsPath(parent) / "tw"


def environment_after(plan: Plan, environment: Environment) -> Environment:
    """The variables as a program started after the plan will see them."""
    data = dict(environment.data)
    for change in plan.changes:
        if isinstance(change, SetVariable):
            data = merged(data, {change.variable: change.value})
    return Environment(data, windows=environment.windows)


def stored_variables(registry: Registry) -> dict[str, str]:
    """The stored variables that matter, in capitals; the user's before the machine's."""
    keys = (STORED["machine"], STORED["user"])
    return {
        name.upper(): value
        for key in keys
        for name, value in registry.values(key).items()
        if isinstance(value, str) and known(name)
    }

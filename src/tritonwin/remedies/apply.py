"""Carry out a plan: everything is laid out first, then changed through one journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonwin.facts.records import Facts, Interpreter
from tritonwin.journal import Journal, Store, undo
from tritonwin.remedies import (
    build_wheel,
    caches,
    distributions,
    keep_set,
    python_files,
    target_pip,
    triton_files,
    variables,
)
from tritonwin.remedies.context import Agree, ApplyContext, OnEvent, ignore, no_pip
from tritonwin.remedies.plan import (
    AllowLongPaths,
    ApplyPatch,
    BuildWheel,
    CannotRemedyError,
    Change,
    ClearCache,
    CopyHeaders,
    CopyRuntime,
    EnableSite,
    InstallWheels,
    KeepSet,
    Plan,
    RenameShadow,
    SetVariable,
    SwitchDriver,
    target_to_change,
)
from tritonwin.remedies.records import Clearing, StepEvent
from tritonwin.support.pip import Pip
from tritonwin.system.codec import to_json

if TYPE_CHECKING:
    from tritonwin.remedies.build_wheel import Prepared


def clear_unfinished(target: Interpreter, store: Store, agree: Agree, on_event: OnEvent) -> bool:
    """Undo what a crash left half done; True: the facts of the target are to be read again.

    Raises:
        CannotRemedyError: that is not agreed to; a plan made now would be wrong.
    """
    found = store.unfinished(target.executable)
    for header in found:
        on_event(StepEvent(text=f"an earlier change was cut off: {header.title}"))
        if not agree("Undo it first?"):
            raise CannotRemedyError(
                f"{header.target} is in the middle of a change: {header.title}",
                f"tritonwin undo {header.id}",
            )
        undo(store, header.id)
    return bool(found)


@dataclass(frozen=True)
class Kind:
    """The functions of a kind of change: `plan` takes the arguments of an action as keywords."""

    apply: Callable[[Any, ApplyContext], None]
    plan: Callable[..., Change | tuple[Change, ...]] | None = None


# In the order of a plan: what others rest on comes first.
KINDS: Mapping[type[Any], Kind] = {
    SetVariable: Kind(variables.apply_variable, variables.plan_variable),
    RenameShadow: Kind(python_files.apply_rename, python_files.plan_rename),
    InstallWheels: Kind(distributions.put_in_place),
    BuildWheel: Kind(build_wheel.apply_build),
    EnableSite: Kind(python_files.apply_site),
    CopyRuntime: Kind(python_files.apply_runtime, python_files.plan_runtime),
    CopyHeaders: Kind(python_files.apply_headers, python_files.plan_headers),
    ApplyPatch: Kind(triton_files.apply_patch, triton_files.plan_patch),
    SwitchDriver: Kind(triton_files.apply_driver),
    KeepSet: Kind(keep_set.apply_keep),
    ClearCache: Kind(caches.apply_clear, caches.plan_clear),
    AllowLongPaths: Kind(variables.apply_long_paths, variables.plan_long_paths),
}


def apply_plan(
    plan: Plan,
    target: Interpreter,
    store: Store,
    pip: Callable[[], Pip] = no_pip,
    on_event: OnEvent = ignore,
    *,
    builds: Mapping[str, Prepared] | None = None,
    session: str | None = None,
) -> str:
    """Apply the plan; returns the journal's id. The caller holds the target's lock.

    Args:
        builds: the builds that were planned, see PlanContext.
        session: the first journal of the same fix, which is undone together with this one.

    Whatever fails, the target is restored before the error is raised.

    Raises:
        ChangedSincePlanError: the target is not as the plan was made for.
        UserError: a download, pip, or a file that cannot be changed.
    """
    with Journal.begin(
        store,
        target=target.executable,
        title=plan.title(),
        plan=to_json(plan),
        session=session,
    ) as journal:
        context = ApplyContext(
            journal=journal,
            target=target,
            scratch=journal.scratch(Path(target.executable).parent),
            pip=pip,
            builds=builds or {},
            on_event=on_event,
        )
        context = replace(context, staged=_stage(plan, context))
        for change in plan.changes:
            context.say(change.what)
            KINDS[type(change)].apply(change, context)
    return journal.header.id


def _stage(plan: Plan, context: ApplyContext) -> Path | None:
    wheels = [s for c in plan.changes if isinstance(c, InstallWheels) for s in c.sources]
    if not wheels:
        return None
    names = ", ".join(f"{wheel.name} {wheel.version}" for wheel in wheels)
    context.say(f"fetching and unpacking {names}")
    target = context.target
    root = context.journal.scratch(Path((*target.site_packages, target.executable)[0]))
    target_pip.stage(context.pip(), wheels, root, context.progress)
    for change in plan.changes:
        if isinstance(change, InstallWheels):
            target_pip.check_modules(root, target, cuda=change.cuda, gpus=change.gpus)
    return root


def clear_caches(clearing: Clearing, facts: Facts, store: Store, agree: Agree) -> Clearing:
    """Carry it out through a journal; unchanged where there is nothing to do or no consent."""
    if not clearing.removes or not agree(f"Clear {len(clearing.removes)} cache entries?"):
        return clearing
    target = target_to_change(facts)
    with store.lock(target.executable):
        return replace(clearing, journal=apply_plan(clearing.plan, target, store))

"""Carry out a plan: everything is laid out first, then changed through one journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonwin.facts.records import Interpreter
from tritonwin.journal import Journal, Store
from tritonwin.remedies import (
    build_wheel,
    distributions,
    headers,
    patch_triton,
    python_driver,
    python_path,
    target_pip,
    variables,
    vc_runtime,
)
from tritonwin.remedies.context import ApplyContext, OnEvent, ignore
from tritonwin.remedies.plan import (
    AllowLongPaths,
    ApplyPatch,
    BuildWheel,
    ClearCache,
    CopyHeaders,
    CopyRuntime,
    EnableSite,
    InstallWheels,
    Plan,
    RemoveDistribution,
    RenameShadow,
    SetVariable,
    SwitchDriver,
    UnsetVariable,
)
from tritonwin.support.pip import Pip
from tritonwin.system.codec import to_json

if TYPE_CHECKING:
    from tritonwin.remedies.build_wheel import Prepared


def _clear_cache(change: ClearCache, context: ApplyContext) -> None:
    for entry in change.removes:
        context.journal.delete(Path(entry))


# How each kind of change is made, in the order of a plan: what others rest on comes first.
APPLY: Mapping[type[Any], Callable[[Any, ApplyContext], None]] = {
    UnsetVariable: variables.apply_variable,
    SetVariable: variables.apply_variable,
    RenameShadow: python_path.apply_rename,
    RemoveDistribution: distributions.apply_remove,
    InstallWheels: distributions.apply_install,
    BuildWheel: build_wheel.apply_build,
    EnableSite: python_path.apply_site,
    CopyRuntime: vc_runtime.apply_runtime,
    CopyHeaders: headers.apply_headers,
    ApplyPatch: patch_triton.apply_patch,
    SwitchDriver: python_driver.apply_driver,
    ClearCache: _clear_cache,
    AllowLongPaths: variables.apply_long_paths,
}


def apply_plan(
    plan: Plan,
    target: Interpreter,
    store: Store,
    pip: Callable[[], Pip],
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
            APPLY[type(change)](change, context)
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

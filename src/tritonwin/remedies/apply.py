"""Carry out a plan: everything is laid out first, then changed through one journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tritonwin.facts.model import Interpreter
from tritonwin.journal import Journal, Store
from tritonwin.remedies import staging
from tritonwin.remedies.actions import REMEDIES
from tritonwin.remedies.plan import Plan
from tritonwin.remedies.remedy import DEAF, Listener, Work
from tritonwin.support.pip import Pip
from tritonwin.system.codec import to_json


def apply_plan(
    plan: Plan,
    target: Interpreter,
    store: Store,
    pip: Callable[[], Pip],
    listener: Listener = DEAF,
    *,
    session: str | None = None,
) -> str:
    """Apply the plan; returns the journal's id. The caller holds the target's lock.

    `session`: the first journal of the same fix, which is undone together with this one.

    Whatever fails, the target is given back as it was before the error is raised.

    Raises:
        UserError: a download, pip, or a file that cannot be changed.
    """
    with Journal.begin(
        store,
        target=target.executable,
        title=plan.title(),
        plan=to_json(plan),
        session=session,
    ) as journal:
        home = Path(target.executable).parent
        work = Work(
            journal=journal,
            target=target,
            scratch=journal.scratch(home),
            staged=_stage(plan, target, journal, pip, listener),
            listener=listener,
        )
        for change in plan.changes:
            listener.say(change.what)
            REMEDIES[change.action].apply(change, work)
    return journal.header.id


def _stage(
    plan: Plan,
    target: Interpreter,
    journal: Journal,
    pip: Callable[[], Pip],
    listener: Listener,
) -> Path | None:
    wheels = [s for c in plan.changes if REMEDIES[c.action].plan is None for s in c.sources]
    if not wheels:
        return None
    listener.say(f"fetching and unpacking {', '.join(f'{w.name} {w.version}' for w in wheels)}")
    place = target.site_packages[0] if target.site_packages else target.executable
    root = journal.scratch(Path(place))
    staging.stage(pip(), wheels, root, listener.progress)
    return root

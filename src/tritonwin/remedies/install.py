"""install: the right wheels for what was asked for, put in through the journal, then imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from packaging.requirements import Requirement

from tritonwin.facts.collect import collect
from tritonwin.facts.records import Facts, Interpreter
from tritonwin.facts.target import import_error
from tritonwin.journal import Store
from tritonwin.remedies.apply import apply_plan, clear_unfinished
from tritonwin.remedies.context import Agree, OnEvent, ignore
from tritonwin.remedies.distributions import install_change
from tritonwin.remedies.plan import Change, Plan, need_rights, target_to_change
from tritonwin.remedies.records import (
    ChoiceEvent,
    ImportResult,
    Installation,
    PlanEvent,
    StepEvent,
)
from tritonwin.remedies.target_pip import find_pip
from tritonwin.support import install_plan
from tritonwin.support.packages import module_of
from tritonwin.support.pip import Pip
from tritonwin.support.wheel_choice import InstallStatus


@dataclass(frozen=True, kw_only=True)
class InstallOptions:
    """The user's wishes.

    Attributes:
        lists: folders, files and addresses that name wheels, preferred to the package index.
        default_lists: ask the public lists of wheels as well.
        allow_unhashed: take wheels from the network for which no hash is known.
        reinstall: install again what is there in the right version.
    """

    requests: tuple[Requirement, ...]
    lists: tuple[str, ...] = ()
    default_lists: bool = True
    offline: bool = False
    allow_unhashed: bool = False
    reinstall: bool = False
    dry_run: bool = False


def install(
    options: InstallOptions,
    facts: Facts,
    store: Store,
    *,
    agree: Agree,
    on_event: OnEvent = ignore,
) -> Installation:
    """Choose, show, install and import.

    Raises:
        UserError: no target, no pip to ask, or a change that failed; the target is then as before.
    """
    target = target_to_change(facts)
    if not options.dry_run and store.unfinished(target.executable):
        with store.lock(target.executable, wait=5):
            clear_unfinished(target, store, agree, on_event)
        facts = collect(python=target.executable)

    @cache
    def pip() -> Pip:
        return find_pip(facts, options.lists)

    planned = _planned(options, facts, pip, on_event)
    on_event(ChoiceEvent(choices=planned.choices, notes=planned.notes))
    if planned.plan.changes:
        on_event(PlanEvent(plan=planned.plan))
    if planned.status != "planned" or options.dry_run:
        return planned
    for change in planned.plan.changes:  # before gigabytes are fetched
        need_rights(change, facts)
    if not agree("Make these changes?"):
        return replace(planned, status="declined")
    with store.lock(target.executable, wait=5):
        journal = apply_plan(planned.plan, target, store, pip, on_event)
    return _imported(replace(planned, journal=journal), target, on_event)


def _planned(
    options: InstallOptions, facts: Facts, pip: Callable[[], Pip], on_event: OnEvent
) -> Installation:
    sources = replace(
        install_plan.sources_for(
            facts,
            pip,
            lists=options.lists,
            public=options.default_lists,
            offline=options.offline,
        ),
        say=lambda text: on_event(StepEvent(text=text)),
    )
    found = install_plan.plan(
        facts,
        options.requests,
        sources,
        pip(),
        allow_unhashed=options.allow_unhashed,
        reinstall=options.reinstall,
    )
    asked = ", ".join(choice.request for choice in found.choices)
    changes: tuple[Change, ...] = ()
    status: InstallStatus = "nothing-to-do"
    if found.downloads:
        status = "planned"
        changes = (replace(install_change(found.downloads, facts), why=f"asked for: {asked}"),)
    if found.missing:
        unread = any(choice.unread for choice in found.missing)
        status = "unread" if unread else "nothing-fits"
    return Installation(
        status=status,
        choices=found.choices,
        notes=found.notes,
        plan=Plan(target=facts.target.executable if facts.target else "", changes=changes),
    )


def _imported(done: Installation, target: Interpreter, on_event: OnEvent) -> Installation:
    """Import what was asked for: an extension for another torch fails only then."""
    imports = []
    for choice in done.choices:
        module = module_of(choice.package)
        on_event(StepEvent(text=f"importing {module}"))
        error = import_error(target.executable, module)
        imports.append(ImportResult(module=module, error=error))
    status: InstallStatus = "import-failed" if any(i.error for i in imports) else "installed"
    return replace(done, status=status, imports=tuple(imports))

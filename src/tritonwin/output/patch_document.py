"""What `tritonwin patch` did, for programs."""

from __future__ import annotations

from tritonwin.output.documents import HookReport, PatchReport, Tool
from tritonwin.output.machine import target_of
from tritonwin.patch.session import Outcome


def document(outcome: Outcome) -> PatchReport:
    report, plan, hook = outcome.report, outcome.plan, outcome.hook
    shown = plan.edits if plan and outcome.status == "planned" else None
    return PatchReport(
        tool=Tool(),
        target=target_of(outcome.target),
        package=report.package,
        flavour=report.flavour,
        version=report.version,
        status=outcome.status,
        rules=report.rules,
        files=report.files,
        changed=outcome.changed,
        refused=plan.refused if plan else (),
        conflicts=outcome.conflicts,
        skipped=plan.skipped if plan else (),
        unverified=tuple(e.source.file for e in plan.edits if not e.known) if plan else (),
        hook=HookReport(
            folder=str(hook.folder),
            only=tuple(hook.choice.only) if hook.choice else (),
            starts=hook.starts,
            current=hook.current,
        )
        if hook
        else None,
        journal=outcome.journal,
        diff=None if shown is None else "".join(edit.diff() for edit in shown),
        notes=outcome.notes,
    )

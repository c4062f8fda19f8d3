"""`tritonwin doctor`: facts to problems, root causes first."""

from __future__ import annotations

from pathlib import Path

import click

from tritonwin.cli.common import json_option, target_options
from tritonwin.errors import Exit, UserError


@click.command("doctor")
@target_options
@click.option(
    "--snapshot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Examine the facts in this file instead of this machine.",
)
@click.option("--only", multiple=True, metavar="ID", help="Run this check alone (repeatable).")
@click.option("--deep", is_flag=True, help="Also import torch and triton, each in a process.")
@click.option("--list-checks", is_flag=True, help="List the checks and do nothing else.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    python: str | None,
    app: Path | None,
    timeout: float,
    snapshot: Path | None,
    only: tuple[str, ...],
    deep: bool,
    list_checks: bool,
    as_json: bool,
) -> int:
    """Find out what keeps Triton from working here.

    Nothing is changed. Exit status 1 when something is wrong, 0 when nothing is.

    \b
    Examples:
      tritonwin doctor
      tritonwin doctor --app C:\\ComfyUI_windows_portable
      tritonwin doctor --snapshot report.json --json
    """
    from tritonwin.output import machine, terminal
    from tritonwin.problems.checks import CHECKS
    from tritonwin.problems.doctor import diagnose

    if snapshot and (python or app or deep):
        msg = "--snapshot cannot be combined with --python, --app or --deep"
        raise click.UsageError(msg, ctx)
    unknown = sorted(set(only) - {c.id for c in CHECKS})
    if unknown:
        msg = f"there is no check {unknown[0]!r}"
        raise UserError(msg, "List them: tritonwin doctor --list-checks")
    checks = [c for c in CHECKS if not only or c.id in only]
    if list_checks:
        if as_json:
            machine.print_document(machine.check_list(checks))
        else:
            terminal.print_checks(checks)
        return Exit.DONE
    if snapshot:
        from tritonwin.facts import snapshot as snapshots

        facts = snapshots.read(snapshot)
    else:
        from tritonwin.facts.collect import collect

        facts = collect(python=python, app=app, timeout=timeout, deep=deep)
    diagnosis = diagnose(facts, checks)
    if as_json:
        machine.print_document(machine.doctor_report(facts, diagnosis, snapshot))
    else:
        terminal.print_diagnosis(facts, diagnosis)
    return Exit.DONE if diagnosis.healthy else Exit.PROBLEMS

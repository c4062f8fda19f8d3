"""`tritonwin fix`: repair what doctor finds, and prove it."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from tritonwin.cli.options import (
    TargetOptions,
    find_links_option,
    json_option,
    need_no_question,
    path_option,
    refuse_unknown,
    target_options,
)
from tritonwin.errors import Exit


@click.command("fix")
@target_options
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--yes", is_flag=True, help="Make the changes without asking.")
@click.option("--only", multiple=True, metavar="ID", help="Solve this problem alone (repeatable).")
@find_links_option
@click.option(
    "--index", "indexes", multiple=True, metavar="URL", help="Ask this index, not pip's own."
)
@click.option("--offline", is_flag=True, help="Fetch nothing: use what is on this machine.")
@path_option("--headers", "PATH", "Take Python's headers from this folder or zip.")
@click.option("--machine-wide", is_flag=True, help="Allow changes for all users of this machine.")
@json_option
@click.option("--json-lines", is_flag=True, help="Print one JSON object an event.")
def command(
    *,
    target: TargetOptions,
    yes: bool,
    as_json: bool,
    json_lines: bool,
    **options: Any,
) -> int:
    """Repair what doctor finds, and prove that it works.

    The plan is shown before anything is changed. Everything that is changed can be undone:
    tritonwin undo. Exit status 0 when the proof holds and no problem is left.

    \b
    Examples:
      tritonwin fix --dry-run
      tritonwin fix --python C:\\ComfyUI\\python_embeded\\python.exe --yes
      tritonwin fix --offline --find-links D:\\wheels
    """
    from tritonwin.journal import Store
    from tritonwin.output.changes import FixReport, carried_out, of_fix
    from tritonwin.problems import catalogue
    from tritonwin.remedies.fix import FixOptions, fix
    from tritonwin.system.host import Host

    wishes = FixOptions(named=target.named, timeout=target.timeout, **options)
    refuse_unknown("problem", wishes.only, catalogue.load().entries)
    need_no_question(for_programs=as_json or json_lines, settled=yes or wishes.dry_run)
    host = Host.this_machine(target.app)
    facts = target.collect(host=host)
    result = carried_out(
        partial(fix, wishes, facts, Store.default(), host=host),
        partial(of_fix, facts),
        FixReport,
        facts.target,
        yes=yes,
        as_json=as_json,
        json_lines=json_lines,
    )
    return Exit.DONE if result.good else Exit.PROBLEMS

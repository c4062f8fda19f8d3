"""`tritonwin fix`: repair what doctor finds, and prove it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from tritonwin.cli.options import TargetOptions, json_option, need_no_question, target_options
from tritonwin.errors import Exit, UserError


@click.command("fix")
@target_options
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--yes", is_flag=True, help="Make the changes without asking.")
@click.option("--only", multiple=True, metavar="ID", help="Solve this problem alone (repeatable).")
@click.option(
    "--find-links",
    multiple=True,
    metavar="PLACE",
    help="Take wheels from this folder, list or page (repeatable).",
)
@click.option(
    "--index",
    multiple=True,
    metavar="URL",
    help="Look for packages in this index instead of pip's own (repeatable).",
)
@click.option("--offline", is_flag=True, help="Fetch nothing: use what is on this machine.")
@click.option(
    "--headers",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Take Python's headers from this folder or zip.",
)
@click.option("--machine-wide", is_flag=True, help="Allow changes for all users of this machine.")
@json_option
@click.option("--json-lines", is_flag=True, help="Print one JSON object an event.")
def command(
    *,
    target: TargetOptions,
    dry_run: bool,
    yes: bool,
    only: tuple[str, ...],
    find_links: tuple[str, ...],
    index: tuple[str, ...],
    offline: bool,
    headers: Path | None,
    machine_wide: bool,
    as_json: bool,
    json_lines: bool,
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
    from tritonwin.output import documents
    from tritonwin.output.changes import EventWriter, FixReport, ProgressPrinter, of_fix
    from tritonwin.output.terminal import agreed, show
    from tritonwin.problems import catalogue
    from tritonwin.remedies.context import ignore
    from tritonwin.remedies.fix import FixOptions, fix
    from tritonwin.system.host import Host

    unknown = sorted(set(only) - set(catalogue.load().entries))
    if unknown:
        raise UserError(
            f"there is no problem {unknown[0]!r}", "List them: tritonwin doctor --list-checks"
        )
    need_no_question(
        {"--json": as_json, "--json-lines": json_lines},
        {"--yes": yes, "--dry-run": dry_run},
        "tritonwin fix --dry-run",
    )
    options = FixOptions(
        named=target.python is not None or target.app is not None,
        only=only,
        lists=find_links,
        indexes=index,
        offline=offline,
        headers=headers,
        machine_wide=machine_wide,
        dry_run=dry_run,
        timeout=target.timeout,
    )
    host = Host.this_machine(target.app)
    facts = target.collect(host=host)
    writer = EventWriter()
    with contextlib.closing(ProgressPrinter()) as printer:
        result = fix(
            options,
            facts,
            Store.default(),
            agree=(lambda _: True) if yes else agreed,
            on_event=writer if json_lines else ignore if as_json else printer,
            host=host,
        )
    report = documents.outcome_report(FixReport, facts.target, result)
    if json_lines:
        writer.finish(report)
    if as_json:
        documents.print_document(report)
    elif not json_lines:
        show(*of_fix(facts, result))
    return Exit.DONE if result.good else Exit.PROBLEMS

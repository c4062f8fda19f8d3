"""`tritonwin install`: the right wheel for this Python, torch, GPU and driver."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from tritonwin.cli.options import TargetOptions, json_option, need_no_question, target_options
from tritonwin.errors import Exit


@click.command("install")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@target_options
@click.option("--dry-run", is_flag=True, help="Show what would be installed; change nothing.")
@click.option("--yes", is_flag=True, help="Install without asking.")
@click.option(
    "--index",
    "lists",
    multiple=True,
    metavar="FILE|URL",
    help="Also take wheels from this list: an index, a page, a JSON list, lines (repeatable).",
)
@click.option("--find-links", multiple=True, metavar="DIR", help="Wheels lie in this folder, too.")
@click.option("--no-default-lists", is_flag=True, help="Do not ask the public lists of wheels.")
@click.option(
    "--allow-unhashed",
    is_flag=True,
    help="Take wheels for which no hash is known: nothing shows then whether they were replaced.",
)
@click.option("--reinstall", is_flag=True, help="Install again what is there already.")
@click.option("--offline", is_flag=True, help="Fetch nothing: folders and files that you name.")
@click.option("--all", "every_reason", is_flag=True, help="Show every rejected wheel.")
@json_option
@click.option("--json-lines", is_flag=True, help="Print one JSON object an event.")
def command(
    *,
    packages: tuple[str, ...],
    target: TargetOptions,
    yes: bool,
    lists: tuple[str, ...],
    find_links: tuple[str, ...],
    no_default_lists: bool,
    every_reason: bool,
    as_json: bool,
    json_lines: bool,
    **options: Any,
) -> int:
    """Install packages in the builds that fit this Python, torch, GPU and driver.

    Says of every wheel that was not taken why. What was installed is imported afterwards, and
    tritonwin undo restores what was there before. Exit status 1 where a wheel is missing or does
    not work, 2 where one is missing and a place of wheels could not be read.

    \b
    Examples:
      tritonwin install triton-windows
      tritonwin install torch triton-windows --dry-run
      tritonwin install flash-attn --index wheels.json
      tritonwin install sageattention --find-links D:\\wheels --offline
    """
    from tritonwin.journal import Store
    from tritonwin.output.changes import InstallReport, carried_out, of_installation
    from tritonwin.remedies.install import InstallOptions, install
    from tritonwin.support.install_plan import parse_requests

    need_no_question(for_programs=as_json or json_lines, settled=yes or options["dry_run"])
    wishes = InstallOptions(
        requests=parse_requests(packages),
        lists=(*lists, *find_links),
        default_lists=not no_default_lists,
        **options,
    )
    facts = target.collect()
    done = carried_out(
        partial(install, wishes, facts, Store.default()),
        of_installation,
        InstallReport,
        facts.target,
        yes=yes,
        as_json=as_json,
        json_lines=json_lines,
        everything=every_reason,
    )
    if done.status == "unread":
        return Exit.USAGE
    failed = {"nothing-fits", "import-failed", "declined"}
    return Exit.PROBLEMS if done.status in failed else Exit.DONE

"""`tritonwin cache`: what is in the caches of Triton and torch.compile, and what is stale there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonwin.cli.options import (
    Group,
    TargetOptions,
    json_option,
    need_no_question,
    target_options,
)
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.facts.model import Facts
    from tritonwin.problems.cache_state import JudgedEntry


@click.group(
    "cache",
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,  # a line is said instead; click's versions do not agree on the status
)
def command() -> None:
    """The caches of compiled kernels and helper modules.

    \b
    Examples:
      tritonwin cache list --app C:\\ComfyUI_windows_portable
      tritonwin cache clear --dry-run
    """


@command.command("list")
@target_options
@json_option
def list_entries(*, target: TargetOptions, as_json: bool) -> int:
    """List what is in the caches, what it was built for, and whether it is stale.

    \b
    usable   what this Python would load
    foreign  for another Python, Triton or GPU
    stale    of no use to anybody, or in the way
    """
    from tritonwin.output import caches, machine

    facts, entries = _examine(target)
    if as_json:
        machine.print_document(caches.report(facts, entries))
    else:
        caches.print_entries(facts, entries)
    return Exit.DONE


@command.command("clear")
@click.option(
    "--all", "everything", is_flag=True, help="Clear the caches whole, not what is stale."
)
@click.option("--dry-run", is_flag=True, help="Show what would be cleared; change nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@target_options
@json_option
def clear(
    *,
    everything: bool,
    dry_run: bool,
    yes: bool,
    target: TargetOptions,
    as_json: bool,
) -> int:
    """Clear what is stale in the caches; tritonwin undo gives it back.

    What is still needed is compiled anew when it is used next.

    \b
    Examples:
      tritonwin cache clear --dry-run
      tritonwin cache clear --all --yes
    """
    from tritonwin.output import caches, machine
    from tritonwin.output.consent import agreed

    need_no_question(
        {"--json": as_json},
        {"--yes": yes, "--dry-run": dry_run},
        "tritonwin cache clear --dry-run",
    )
    facts, entries = _examine(target)
    doomed = [e.entry.path for e in entries if e.state == "stale"]
    if everything:
        doomed = [cache.path for cache in facts.caches if cache.exists]
    if not as_json:
        caches.print_doomed(doomed)
    journal = None
    if doomed and not dry_run:
        if not yes and not agreed(f"Clear {len(doomed)} folder(s)?"):
            return Exit.DONE
        journal = _clear(facts, doomed)
    if as_json:
        machine.print_document(caches.report(facts, entries, doomed, journal))
    elif journal is not None:
        caches.print_cleared(journal)
    return Exit.DONE


def _examine(target: TargetOptions) -> tuple[Facts, Sequence[JudgedEntry]]:
    from tritonwin.facts.cache_entries import read_entries
    from tritonwin.facts.dlls.search import dll_search
    from tritonwin.problems.cache_state import judge
    from tritonwin.system.host import Host

    host = Host.this_machine(target.app)
    facts = target.collect(host=host)
    if facts.target is None:
        return facts, ()
    search = dll_search(facts.target, facts.torch, host)
    entries = read_entries(facts.caches, facts.target, search)
    return facts, tuple(judge(entry, facts) for entry in entries)


def _clear(facts: Facts, folders: Sequence[str]) -> str:
    """Take the folders away through a journal, whose id is returned."""
    from tritonwin.journal import Journal, Store

    target = facts.target.executable if facts.target else folders[0]
    store = Store.default()
    with (
        store.lock(target),
        Journal.begin(
            store, target=target, title=f"clear {len(folders)} cache folder(s)"
        ) as journal,
    ):
        for folder in folders:
            journal.delete(Path(folder))
    return journal.header.id

"""`tritonwin cache`: what is in the caches of Triton and torch.compile, and what is stale there."""

from __future__ import annotations

import click

from tritonwin.cli.options import (
    Group,
    TargetOptions,
    json_option,
    need_no_question,
    target_options,
)
from tritonwin.errors import Exit


@click.group("cache", cls=Group)
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
    from tritonwin.output import outcomes as shown
    from tritonwin.output.documents import target_of
    from tritonwin.output.terminal import answer
    from tritonwin.remedies.caches import judged_entries
    from tritonwin.system.host import Host

    host = Host.this_machine(target.app)
    facts = target.collect(host=host, start=False)
    entries = judged_entries(facts, host, facts.caches)
    report = shown.CacheReport(target=target_of(facts.target), caches=facts.caches, entries=entries)
    answer(report, shown.of_caches(report), as_json=as_json)
    return Exit.DONE


@command.command("clear")
@click.option("--all", "everything", is_flag=True, help="Clear every entry, stale or not.")
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
    """Clear what is stale in the caches; tritonwin undo restores it.

    Only what has the form of a cache entry is touched. What is still needed is compiled again when
    it is used next.

    \b
    Examples:
      tritonwin cache clear --dry-run
      tritonwin cache clear --all --yes
    """
    from tritonwin.journal import Store
    from tritonwin.output import outcomes as shown
    from tritonwin.output.documents import print_document, target_of
    from tritonwin.output.terminal import agreed, show
    from tritonwin.remedies import caches
    from tritonwin.remedies.apply import clear_caches
    from tritonwin.system.host import Host

    need_no_question(for_programs=as_json, settled=yes or dry_run)
    host = Host.this_machine(target.app)
    facts = target.collect(host=host, start=False)
    entries = caches.judged_entries(facts, host, facts.caches)
    clearing = caches.plan_clearing(facts, entries, everything=everything)
    if not as_json:
        show(*shown.of_clearing(clearing))
    if not dry_run:
        agree = (lambda _: True) if yes else agreed
        clearing = clear_caches(clearing, facts, Store.default(), agree)
    if as_json:
        report = shown.CacheReport(
            target=target_of(facts.target),
            caches=facts.caches,
            entries=entries,
            cleared=clearing.removes,
            left=clearing.left,
            journal=clearing.journal,
        )
        print_document(report)
    elif clearing.journal is not None:
        show(*shown.of_cleared(clearing.journal))
    declined = clearing.removes and not (dry_run or clearing.journal)
    return Exit.PROBLEMS if declined else Exit.DONE

"""`tritonwin undo`: give back what tritonwin changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonwin.cli.options import json_option, need_no_question
from tritonwin.errors import Exit, UserError

if TYPE_CHECKING:
    from tritonwin.journal import Header, Store

_WAIT = 5.0  # seconds for another tritonwin that is at work on the target


@click.command("undo")
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--python", metavar="EXE", help="The last change of this Python, not of all.")
@click.option(
    "--app",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The last change of the Python of this application.",
)
@click.option("--list", "list_them", is_flag=True, help="List what can be undone, newest first.")
@click.option("--dry-run", is_flag=True, help="Show what would be given back; change nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--force", is_flag=True, help="Also where something was changed since; keep that.")
@click.option(
    "--forget",
    is_flag=True,
    help="Delete what is kept for an undo: the disk is freed, the change stays for good.",
)
@json_option
def command(
    *,
    identifier: str | None,
    python: str | None,
    app: Path | None,
    list_them: bool,
    dry_run: bool,
    yes: bool,
    force: bool,
    forget: bool,
    as_json: bool,
) -> int:
    """Give back what tritonwin changed last, byte for byte.

    All rounds of a fix are given back together, unless one is named. Needs no network. Begun
    again, it goes on wherever it was cut off. Exit status 1 when something was changed by others
    since and so nothing was done.

    \b
    Examples:
      tritonwin undo
      tritonwin undo --list
      tritonwin undo 261128-003015-041526 --dry-run
    """
    from tritonwin.journal import Store

    store = Store.default()
    target = _target(python, app)
    if list_them and (identifier or dry_run or force or forget):
        raise UserError(
            "--list goes with none of ID, --dry-run, --force and --forget",
            "See what one would give back: tritonwin undo ID --dry-run",
        )
    if list_them:
        _print_list(store, target, as_json=as_json)
        return Exit.DONE
    if forget and (dry_run or as_json):
        raise UserError(
            "--forget goes with neither --dry-run nor --json",
            "See what is kept: tritonwin undo --list",
        )
    need_no_question(
        {"--json": as_json}, {"--yes": yes, "--dry-run": dry_run}, "tritonwin undo --dry-run"
    )
    header = store.header(identifier) if identifier else store.latest(target)
    if header is None:
        raise UserError(
            f"tritonwin changed nothing that could be undone{f' in {target}' if target else ''}",
            "See what it did: tritonwin undo --list",
        )
    with store.lock(header.target, _WAIT):
        if forget:
            return _forget(store, header, yes=yes)
        rounds = (header,) if identifier else store.session(header)
        return _undo(store, rounds, dry_run=dry_run, yes=yes, force=force, as_json=as_json)


def _target(python: str | None, app: Path | None) -> str | None:
    if python is None and app is None:
        return None
    from tritonwin.facts.choose_target import find_target
    from tritonwin.system.host import Host

    return find_target(Host.this_machine(app), python, app).executable


def _print_list(store: Store, target: str | None, *, as_json: bool) -> None:
    from tritonwin.output import journals, machine
    from tritonwin.output.documents import JournalList, Tool

    headers = store.journals(target)[::-1]
    if as_json:
        machine.print_document(JournalList(tool=Tool(), journals=headers))
    else:
        journals.print_journals(headers)


def _undo(
    store: Store,
    rounds: tuple[Header, ...],
    *,
    dry_run: bool,
    yes: bool,
    force: bool,
    as_json: bool,
) -> int:
    from tritonwin.journal import preview, undo
    from tritonwin.output import journals, machine
    from tritonwin.output.consent import agreed
    from tritonwin.output.documents import Tool, UndoDocument

    # what lies under a later round can be looked at only when that is given back
    reports = [preview(store, rounds[0].id)]
    earlier = rounds[1:]
    if not dry_run and (force or not reports[0].conflicts):
        if not yes:
            journals.print_undo(reports[0], earlier)
            if not agreed("Give this back?"):
                return Exit.DONE
        reports, earlier = [undo(store, rounds[0].id, force=force)], ()
        for header in rounds[1:]:
            if reports[-1].state == "undone":
                reports.append(undo(store, header.id, force=force))
        if reports[-1].state == "undone" and rounds[-1].state != "undone":
            _forget_proof(rounds[-1])
    if as_json:
        machine.print_document(UndoDocument(tool=Tool(), undo=reports[0], also=tuple(reports[1:])))
    else:
        for report in reports:
            journals.print_undo(report, earlier)
    stuck = any(report.conflicts and report.state != "undone" for report in reports)
    return Exit.PROBLEMS if stuck else Exit.DONE


def _forget_proof(first: Header) -> None:
    """What was proven rested on what is gone, so doctor is not to compare with it."""
    from tritonwin.facts.proven import forget_proven
    from tritonwin.system.host import Environment

    forget_proven(first.target, Environment(dict(os.environ)), since=first.started)


def _forget(store: Store, header: Header, *, yes: bool) -> int:
    from tritonwin.journal import JournalError
    from tritonwin.output.consent import agreed
    from tritonwin.output.terminal import print_note

    if header.state in {"open", "half"} and os.path.lexists(header.target):
        raise JournalError(
            f"{header.id} was cut off in the middle; its target is neither old nor new",
            f"Give it back first: tritonwin undo {header.id}",
        )
    if not yes and not agreed(f"Never undo {header.id} ({header.title})?"):
        return Exit.DONE
    for folder in store.forget(header.id):
        print_note(f"{folder} could not be deleted: a program has something in it loaded")
    return Exit.DONE

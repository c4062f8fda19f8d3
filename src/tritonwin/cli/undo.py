"""`tritonwin undo`: undo what tritonwin changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tritonwin.cli.options import json_option, need_no_question, path_option, refuse_together
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.journal.undo import UndoResult


@click.command("undo")
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--python", metavar="EXE", help="The last change of this Python, not of all.")
@path_option("--app", "DIR", "The last change of the Python of this application.")
@click.option("--list", "list_them", is_flag=True, help="List what can be undone, newest first.")
@click.option("--dry-run", is_flag=True, help="Show what would be undone; change nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--force", is_flag=True, help="Also where something was changed since; keep that.")
@click.option(
    "--forget",
    is_flag=True,
    help="Give an undo up: the folder with what was kept for it is named, and can be deleted.",
)
@json_option
def command(
    *,
    python: str | None,
    app: Path | None,
    list_them: bool,
    yes: bool,
    forget: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Undo what tritonwin changed last, byte for byte.

    All rounds of a fix are undone together, unless one is named. Needs no network. Started
    again, it goes on wherever it was cut off. Exit status 1 when nothing was done: something was
    changed by others since, or the question was answered with no.

    \b
    Examples:
      tritonwin undo
      tritonwin undo --list
      tritonwin undo 261128-003015-041526 --dry-run
    """
    from tritonwin.journal import Store
    from tritonwin.output import documents, outcomes, terminal
    from tritonwin.remedies.undo import forget_change, undo_change

    store = Store.default()
    target = _target(python, app)
    agree = (lambda _: True) if yes else terminal.agreed
    refuse_together("list_them", "identifier", "dry_run", "force", "forget")
    refuse_together("forget", "dry_run", "as_json")
    if list_them:
        headers, damaged = store.journals(target)[::-1], store.unreadable()
        listed = outcomes.of_journals(headers, damaged)
        terminal.answer(
            outcomes.JournalList(journals=headers, damaged=damaged), listed, as_json=as_json
        )
        return Exit.DONE
    need_no_question(for_programs=as_json, settled=yes or options["dry_run"])
    if forget:
        forgotten = forget_change(store, agree, options["identifier"], target=target)
        terminal.show(*outcomes.of_forgotten(forgotten))
        return Exit.DONE if forgotten else Exit.PROBLEMS

    def show(result: UndoResult) -> None:
        terminal.show(*outcomes.of_undo(result))

    on_preview = (lambda _: None) if yes else show
    result = undo_change(store, agree, target=target, on_preview=on_preview, **options)
    if as_json:
        first, *others = result.reports
        documents.print_document(
            outcomes.UndoDocument(undo=first, also=tuple(others), damaged=result.damaged)
        )
    elif not result.declined:
        show(result)
    return Exit.PROBLEMS if result.stuck or result.declined else Exit.DONE


def _target(python: str | None, app: Path | None) -> str | None:
    if python is None and app is None:
        return None
    from tritonwin.facts.interpreters import find_target
    from tritonwin.system.host import Host

    return find_target(Host.this_machine(app), python, app).executable

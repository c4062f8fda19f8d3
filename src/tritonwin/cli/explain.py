"""`tritonwin explain`: from a log to the problem that caused it."""

from __future__ import annotations

import io
import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import click

from tritonwin.cli.logs import opened, piped_in
from tritonwin.cli.options import json_option, path_option, refuse_unknown
from tritonwin.errors import Exit, UserError


@click.command("explain")
@click.argument("log", required=False)
@path_option("--snapshot", "FILE", "Take what the log does not say from the facts in this file.")
@click.option("--about", metavar="ID", help="Show the page of a problem; read no log.")
@click.option("--all", "everything", is_flag=True, help="Show every text in full.")
@json_option
def command(
    *,
    log: str | None,
    snapshot: Path | None,
    about: str | None,
    everything: bool,
    as_json: bool,
) -> int:
    """Name the cause behind a failure, from what the program printed.

    LOG is a file with the output, whole if possible, in any encoding; - or nothing reads standard
    input until its end. With - you may also type what a screenshot shows. Exit status 1 when a
    problem is recognised, 0 when none is.

    \b
    Examples:
      tritonwin explain build.log
      python test_triton.py 2>&1 | tritonwin explain -
      tritonwin explain issue.md --snapshot report.json --json
      tritonwin explain --about cpu-only-torch
    """
    if about is not None:
        return _about(about)
    from tritonwin.output import documents, terminal, view
    from tritonwin.problems.explain import explain_stream

    facts = None
    if snapshot:
        from tritonwin.facts import snapshot as snapshots

        facts = snapshots.read(snapshot)
    path = Path(log) if log and log != "-" else None
    with opened(path) if path else _standard_input(asked=log == "-") as stream:
        explanation = explain_stream(stream, facts)
    if not explanation.lines:
        raise UserError(
            "the log is empty",
            "Save what the program printed: PROGRAM > log.txt 2>&1. Or have this machine examined:"
            " tritonwin doctor",
        )
    status = Exit.DONE if explanation.healthy else Exit.PROBLEMS
    if as_json:
        documents.print_document(documents.explain_report(explanation, path, snapshot))
    else:
        name = str(path or "standard input")
        shown = view.of_explanation(explanation, name, here=facts is None)
        terminal.print_view(shown, everything=everything)
    return status


def _about(problem: str) -> int:
    """Show the page of a problem, which needs neither a log nor a network."""
    from tritonwin.output import terminal
    from tritonwin.output.about import of_entry
    from tritonwin.problems import catalogue
    from tritonwin.problems.advice import general

    known = catalogue.load()
    refuse_unknown("problem", [problem], known.entries)
    terminal.show(*of_entry(known.entry(problem), known, general))
    return Exit.DONE


def _standard_input(*, asked: bool) -> AbstractContextManager[BinaryIO]:
    """Piped input; typed input only where that was asked for, else raises UsageError."""
    if sys.stdin is not None and not sys.stdin.isatty():
        return piped_in()
    if sys.stdin is None or not asked:
        raise click.UsageError("no log was given", click.get_current_context())
    end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
    click.echo(f"Type the lines with the error, then {end} in a line of its own.", err=True)
    # whole: a terminal that has ended would be read again, and wait
    return io.BytesIO(sys.stdin.buffer.read())

"""`tritonwin doctor`: facts to problems, root causes first."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonwin.cli.options import (
    TargetOptions,
    json_option,
    path_option,
    refuse_together,
    refuse_unknown,
    target_options,
)
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.facts.records import Facts
    from tritonwin.problems.check import Check

_PAGE_MARK = "tritonwin.doctor/"  # stands at the head of every page


@click.command("doctor")
@target_options
@path_option("--snapshot", "FILE", "Examine the facts in this file instead of this machine.")
@click.option("--only", multiple=True, metavar="ID", help="Run this check alone (repeatable).")
@click.option(
    "--markdown", is_flag=True, help="Print the text of an issue, with nothing private in it."
)
@path_option("--log", "FILE", "With --markdown: the output of what failed, folded.")
@path_option("--html", "FILE", "Write a page to read in a browser, with this machine's own paths.")
@click.option("--all", "everything", is_flag=True, help="Show every check and every text in full.")
@json_option
def command(
    *,
    target: TargetOptions,
    snapshot: Path | None,
    only: tuple[str, ...],
    markdown: bool,
    log: Path | None,
    html: Path | None,
    everything: bool,
    as_json: bool,
) -> int:
    """Find out what keeps Triton from working here.

    Nothing is changed. Exit status 1 when something is wrong, 0 when nothing is.

    \b
    Examples:
      tritonwin doctor
      tritonwin doctor --app C:\\ComfyUI_windows_portable
      tritonwin doctor --snapshot report.json --json
      tritonwin doctor --markdown --log comfyui.log > issue.md
      tritonwin doctor --html report.html
    """
    from tritonwin.output import documents, terminal, view
    from tritonwin.output.html import report as page
    from tritonwin.problems.checks import CHECKS
    from tritonwin.problems.doctor import diagnose
    from tritonwin.system.files import refuse_foreign, write_text

    refuse_together("snapshot", "python", "app")
    refuse_together("as_json", "markdown", "log", "html")
    refuse_unknown("check", only, [c.id for c in CHECKS])
    checks = [c for c in CHECKS if not only or c.id in only]
    if html:
        refuse_foreign(html, _PAGE_MARK)  # before the work is done
    if snapshot:
        from tritonwin.facts import snapshot as snapshots

        facts = snapshots.read(snapshot)
    else:
        facts = target.collect(start=False)
    diagnosis = diagnose(facts, checks)
    status = Exit.DONE if diagnosis.healthy else Exit.PROBLEMS
    shown = view.of_diagnosis(facts, diagnosis, here=snapshot is None, whole=not only)
    if html:
        write_text(html, page(shown))
        terminal.print_note(f"written: {html}")
    if markdown or log:
        _print_issue(facts, checks, log)
    elif as_json:
        report = documents.DoctorReport
        made = documents.outcome_report(report, facts.target, diagnosis, snapshot)
        documents.print_document(made)
    elif not html:
        terminal.print_view(shown, everything=everything)
    return status


def _print_issue(facts: Facts, checks: Sequence[Check], log: Path | None) -> None:
    """The issue is made of redacted facts: what they do not hold cannot get out."""
    from tritonwin.cli.logs import opened
    from tritonwin.facts import snapshot as snapshots
    from tritonwin.facts.redaction.redactor import Redactor
    from tritonwin.output import view
    from tritonwin.output.markdown import issue
    from tritonwin.problems.doctor import diagnose
    from tritonwin.problems.explain.decode import text_blocks

    redactor = Redactor.this_machine()
    text = None
    if log:
        with opened(log) as stream:
            # an issue takes the end alone, which is far less than a block; no size fills the memory
            text = redactor.text("".join(deque(text_blocks(stream), maxlen=2)))
    safe = snapshots.redacted(facts, redactor)
    # others read it: how tritonwin was started here says nothing to them, and may hold a name
    shown = view.of_diagnosis(safe, diagnose(safe, checks), here=False)
    # not click.echo, which takes a console of ASCII for one of UTF-8
    sys.stdout.write(issue(shown, text))

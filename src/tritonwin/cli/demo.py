"""`tritonwin demo`: doctor at work on machines that are broken in known ways."""

from __future__ import annotations

import click

from tritonwin.errors import Exit


@click.command("demo")
def command() -> int:
    """Show what doctor finds on machines that are broken in known ways.

    The facts come from snapshots of real Windows Pythons.

    \b
    Example:
      tritonwin demo
    """
    from tritonwin.demo import stories
    from tritonwin.output import terminal, view
    from tritonwin.output.blocks import TextLine, line
    from tritonwin.problems.checks import CHECKS
    from tritonwin.problems.doctor import diagnose

    told = kept = 0
    for story in stories():
        diagnosis = diagnose(story.facts, CHECKS)
        shown = view.of_diagnosis(story.facts, diagnosis, here=False)
        told_of = line(f"== {story.title}", "strong")
        terminal.show(told_of, *shown.screen(everything=False), TextLine(), own=False)
        first = next((p.id for p in diagnosis.problems), "")
        told += 1
        kept += first == story.expects if story.expects else diagnosis.healthy
    terminal.print_note(f"{kept} of {told} machines: doctor named what was done to them.")
    return Exit.DONE if kept == told else Exit.PROBLEMS

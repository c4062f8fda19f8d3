"""`tritonwin demo`: doctor at work on machines that are broken in known ways."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonwin.errors import Exit, UserError

if TYPE_CHECKING:
    from tritonwin.demo.story import Story


@click.command("demo")
@click.option("--lane", is_flag=True, help="Do it live in Windows Pythons under Wine (checkout).")
def command(*, lane: bool) -> int:
    """Show what doctor finds on machines that are broken in known ways.

    On Windows a copy of a small Python is broken and examined. Elsewhere the facts come from
    snapshots of real Windows Pythons; with --lane they are read live from such Pythons under Wine.

    \b
    Examples:
      tritonwin demo
      tritonwin demo --lane
    """
    from tritonwin.demo import story as recorded
    from tritonwin.output import terminal

    if lane:
        with _lane() as told:
            return _tell(told)
    if sys.platform == "win32":
        with recorded.small_python() as python:
            return _tell(recorded.stories(python))
    terminal.print_note("Snapshots of real Windows Pythons; tritonwin demo --lane reads live ones.")
    return _tell(recorded.shipped())


def _tell(stories: Iterable[Story]) -> int:
    from tritonwin.output import terminal, view

    told = kept = 0
    for story in stories:
        diagnosis = story.diagnosis()
        shown = view.of_diagnosis(story.facts, diagnosis, here=False)
        terminal.show(*shown.story(story.title), own=False)
        told += 1
        kept += story.kept(diagnosis)
    terminal.print_note(f"{kept} of {told} machines: doctor named what was done to them.")
    return Exit.DONE if told and kept == told else Exit.PROBLEMS


@contextmanager
def _lane() -> Iterator[Iterator[Story]]:
    """The stories of `tools/lane_stories.py`, which only a checkout has."""
    tools = Path(__file__).resolve().parents[3] / "tools"
    if not (tools / "lane_stories.py").is_file():
        raise UserError(
            "--lane needs a checkout of tritonwin: the lane is no part of the installed package",
            "Without it: tritonwin demo",
        )
    sys.path.insert(0, str(tools))
    # by name: a type checker of the package need not know what only a checkout has
    lane_stories, winlane = import_module("lane_stories"), import_module("winlane")
    try:
        with lane_stories.live() as stories:
            yield stories
    except winlane.LaneUnavailable as reason:
        raise UserError(
            f"the Windows lane cannot run here: {reason}", "Without it: tritonwin demo"
        ) from reason

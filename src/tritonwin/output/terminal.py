"""Output for people. Own words are plain ASCII; colour is an addition, never the message."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

from tritonwin import __version__
from tritonwin.output.documents import CheckName
from tritonwin.output.invocation import speaking
from tritonwin.output.text import printable
from tritonwin.output.view import (
    DiagnosisView,
    ExplanationView,
    ProblemView,
    Tone,
    of_problem,
)
from tritonwin.problems.records import Problem

if TYPE_CHECKING:
    from rich.progress import Progress

STYLES: dict[Tone, str] = {
    "good": "green",
    "notice": "cyan",
    "warning": "yellow",
    "bad": "bold red",
    "absent": "dim",
    "crashed": "magenta",
}
_WIDTH = len("crashed")
# wide enough that a path or a command is not broken where nobody sees the output
_PIPE_WIDTH = 1000
_PROSE_WIDTH = 100
_MOST_EVIDENCE = 20  # of a problem; a hostile snapshot may bring a hundred thousand
_LONGEST_TEXT = 1500
_NARROWEST = 30  # a terminal may call itself one of 0 columns
_QUIET = 15.0  # seconds between two lines where nobody watches a bar
_MEGABYTE = 1_000_000


def console(stream: TextIO | None = None, *, own: bool = True) -> Console:
    """A console that honours NO_COLOR and FORCE_COLOR and keeps commands whole in a pipe.

    Args:
        stream: where it writes; None: standard output.
        own: commands are for this machine, and begin as tritonwin was started here.
    """
    stream = stream or sys.stdout
    interactive = stream.isatty()
    made = Console(
        file=speaking(stream) if own else stream,
        highlight=False,
        emoji=False,
        markup=False,
        # rich would still write bold and dim, which is no plain text either
        force_terminal=False if os.environ.get("NO_COLOR") else None,
        width=None if interactive else _PIPE_WIDTH,
    )
    made.width = max(made.width, _NARROWEST)
    return made


def print_checks(checks: Iterable[CheckName]) -> None:
    out = console()
    for check in checks:
        out.print(Text.assemble((check.id, "bold"), f"  {check.title}"), soft_wrap=True)


def print_snapshot_written(path: Path) -> None:
    print_note(f"written: {path}")
    print_note("Look at it before you send it; it is plain text.")


def say(out: Console, text: str, style: str = "") -> None:
    """Print a line that is never wrapped; foreign text in it is made safe."""
    out.print(Text(printable(text), style), soft_wrap=True)


def print_note(text: str, style: str = "") -> None:
    say(console(), text, style)


def agreed(question: str) -> bool:
    """Ask; True for yes. An input that has ended means no."""
    console().print(Text(f"{printable(question)} [y/N] "), end="")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def print_story(title: str, view: DiagnosisView) -> None:
    """A diagnosis in short: the machine, how many checks are fine, and the gravest problem."""
    out = console(own=False)
    say(out, f"== {title}", "bold")
    for line in view.head:
        say(out, line, "dim")
    fine = sum(c.tone == "good" for c in view.checks)
    say(out, f"{fine} checks ok. {view.verdict}")
    if view.problems and view.problems[0].tone != "notice":
        show_problem(out, view.problems[0])
    out.print()


def print_diagnosis(view: DiagnosisView) -> None:
    """The checks, the problems, the verdict and the command that shows a repair."""
    out = console(own=view.here)
    for line in (f"tritonwin {__version__}", *view.head):
        say(out, line)
    out.print()
    for check in view.checks:
        row = Text.assemble(
            (f"  {check.word.ljust(_WIDTH)}", STYLES[check.tone]), f"  {check.check.title}"
        )
        if check.tone in {"absent", "crashed"}:
            row.append(f" ({printable(check.check.detail)})", "dim")
        out.print(row, soft_wrap=True)
    for problem in view.problems:
        out.print()
        show_problem(out, problem)
    for unread in view.unread:
        out.print()
        say(out, f"not read: {unread}")
    out.print()
    say(out, view.verdict)
    if view.fix:
        where = "" if view.here else " On the machine in question:"
        say(out, f"To see what fix would do about it:{where}")
        say(out, f"      {view.fix}", "bold")


def print_explanation(view: ExplanationView, name: str) -> None:
    """The problems of a log, the root cause first, or where to look if none is known."""
    out = console(own=view.here)
    lines = [f"tritonwin {__version__}", f"{name}: {view.lines} lines"]
    lines += [f"the log says: {', '.join(view.known)}"] if view.known else []
    for line in lines:
        say(out, line)
    for problem in view.problems:
        out.print()
        show_problem(out, problem)
    out.print()
    for line in view.verdict:
        say(out, line)


def print_problem(out: Console, problem: Problem) -> None:
    show_problem(out, of_problem(problem))


def show_problem(out: Console, view: ProblemView) -> None:
    """Cause, evidence and help, and the question that would decide where it is not certain."""
    problem = view.problem
    out.print(
        Text.assemble(
            (f"{view.label}: ", STYLES[view.tone]),
            (problem.title, "bold"),
            (f"  [{problem.id}]", "dim"),
        ),
        soft_wrap=True,
    )
    wrapped(out, problem.cause)
    for item in problem.evidence[:_MOST_EVIDENCE]:
        out.print(Text(f"    - {_in_short(item.text)}"), soft_wrap=True)
        out.print(Text(f"      in {_in_short(item.where)}", "dim"), soft_wrap=True)
    if len(problem.evidence) > _MOST_EVIDENCE:
        more = len(problem.evidence) - _MOST_EVIDENCE
        say(out, f"    - and {more} more, with --json")
    wrapped(out, f"help: {problem.remedy.summary}")
    for command in problem.remedy.commands:
        # a command is copied: never wrapped, never coloured inside
        say(out, f"      {command}", "bold")
    if problem.question:
        wrapped(out, f"to be sure: {problem.question.text}")
        say(out, f"      {problem.question.command}", "bold")
    if view.explains:
        wrapped(out, f"This also explains: {'; '.join(view.explains)}.")
    for reference in problem.references:
        say(out, f"    see {reference}", "dim")


def _in_short(text: str) -> str:
    """A variable may hold 32,000 characters; its beginning tells enough."""
    cut = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
    return printable(cut)


def wrapped(out: Console, text: str) -> None:
    """Print a paragraph, indented; foreign text in it is made safe."""
    indent = " " * 4
    width = min(out.width, _PROSE_WIDTH) if out.is_terminal else _PIPE_WIDTH
    lines = textwrap.wrap(_in_short(text), width, initial_indent=indent, subsequent_indent=indent)
    say(out, "\n".join(lines))


class DownloadBar:
    """The download that is under way, if one is."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._bar: Progress | None = None
        self._said = time.monotonic()

    def update(self, done: int, total: int | None) -> None:
        """So many bytes of so many have come; fewer than before: the next file has begun."""
        if self._out.is_terminal:
            self._draw(done, total)
        elif time.monotonic() - self._said >= _QUIET:
            self._said = time.monotonic()
            of = f" of {total // _MEGABYTE}" if total else ""
            say(self._out, f"  {done // _MEGABYTE}{of} MB")

    def end(self) -> None:
        """Take the bar away."""
        if self._bar:
            self._bar.stop()
        self._bar = None

    def _draw(self, done: int, total: int | None) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

            columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._out, transient=True)
            self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.tasks[0].total = total  # to `update`, None means that the total stays
        self._bar.update(self._bar.task_ids[0], completed=done)

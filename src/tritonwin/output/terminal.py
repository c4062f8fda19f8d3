"""Output for people. Own words are plain ASCII; colour is an addition, never the message."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

from tritonwin import __version__
from tritonwin.output import view as views
from tritonwin.output.blocks import (
    Block,
    CodeBlock,
    Fold,
    Link,
    Prose,
    Section,
    Span,
    Table,
    TextLine,
    Tone,
    line,
)
from tritonwin.output.invocation import speaking
from tritonwin.output.text import printable
from tritonwin.output.view import View
from tritonwin.problems.records import Problem

if TYPE_CHECKING:
    from rich.progress import Progress

STYLES: Mapping[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "faint": "dim",
    "good": "green",
    "notice": "cyan",
    "warning": "yellow",
    "bad": "bold red",
    "absent": "dim",
    "crashed": "magenta",
}
# wide enough that a path or a command is not broken where nobody sees the output
_PIPE_WIDTH = 1000
_PROSE_WIDTH = 100
_LONGEST_TEXT = 1500  # a variable may hold 32,000 characters; its beginning tells enough
_NARROWEST = 30  # a terminal may call itself one of 0 columns
_QUIET = 15.0  # seconds between two lines where nobody watches a bar
_MEGABYTE = 1_000_000
_END = re.compile(r"(?<=[.?!]) ")


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


class Screen:
    """The visitor of blocks that prints them.

    Args:
        everything: unfold what is folded and shorten nothing.
    """

    def __init__(self, out: Console | None = None, *, everything: bool = False) -> None:
        self.out = out or console()
        self._everything = everything
        # not by `is_terminal`, which NO_COLOR makes false
        self._width = (
            min(self.out.width, _PROSE_WIDTH) if self.out.width < _PIPE_WIDTH else _PIPE_WIDTH
        )

    def show(self, *blocks: Block) -> None:
        for block in blocks:
            match block:
                case TextLine():
                    self._line(block)
                case Prose():
                    self._prose(block)
                case Table(head=()):
                    self._rows(block)
                case Table():
                    self._table(block)
                case CodeBlock(text=text, command=True):
                    say(self.out, f"      {text}", "bold")
                case CodeBlock(text=text):
                    for each in text.splitlines():
                        say(self.out, f"      {each}", "dim")
                case Link(address=address):
                    say(self.out, f"    see {address}", "dim")
                case Fold(blocks=inner, short=short):
                    self.show(*(inner if self._everything else short))
                case Section():
                    self.section(block)

    def _line(self, block: TextLine) -> None:
        text = Text(" " * block.indent)
        for span in block.spans:
            text.append(_in_short(span.text), STYLES[span.tone])
        self.out.print(text, soft_wrap=True)

    def _prose(self, block: Prose) -> None:
        first = " " * block.indent + block.label
        rest = " " * (block.indent if block.label.endswith(": ") else len(first))
        most = None if self._everything else block.most
        text = _in_short(block.text)
        lines = self._wrapped(text, first, rest)
        sentences = _END.split(text)
        while most and len(lines) > most and len(sentences) > 1:
            sentences.pop()
            lines = self._wrapped(" ".join(sentences), first, rest)
        if most and len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1][: self._width - 4]} ..."]
        for each in lines:
            say(self.out, each, STYLES[block.tone])

    def _wrapped(self, text: str, first: str, rest: str) -> list[str]:
        return textwrap.wrap(
            text,
            self._width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _rows(self, table: Table) -> None:
        """One line a row; the last cell is shortened in its middle where it does not fit."""
        columns = zip(*table.rows, strict=True)
        widths = [max(len(cell.text) for cell in column) for column in columns]
        for row in table.rows:
            text = Text("")
            for cell, width in zip(row[:-1], widths, strict=False):
                text.append("  ").append(printable(cell.text).ljust(width), STYLES[cell.tone])
            room = self.out.width - len(text) - 2
            last = Text(f"  {_shortened(_in_short(row[-1].text), room)}", STYLES[row[-1].tone])
            text.append(last)
            text.rstrip()
            self.out.print(text, soft_wrap=True)

    def _table(self, table: Table) -> None:
        from rich.table import Table as Grid

        grid = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for heading in table.head:
            grid.add_column(heading, overflow="fold")
        for row in table.rows:
            grid.add_row(*(Text(printable(cell.text), STYLES[cell.tone]) for cell in row))
        self.out.print(grid)

    def section(self, block: Section, *, titled: bool = True) -> None:
        """A problem or a rung; its title only where nothing has said it."""
        self.out.print()
        heading = Text(block.label, STYLES[block.tone])
        if titled:
            heading.append(": ").append(_in_short(block.title), "bold")
        heading.append(f"  [{block.name}]", "dim")
        for each in heading.wrap(self.out, self._width):
            each.rstrip()
            self.out.print(each, soft_wrap=True)
        self.show(*block.body, *block.remedy)


def print_view(view: View, *, everything: bool = False) -> None:
    """A report on one screen: the answer, a line a layer, the problems, the count, the next step.

    Args:
        everything: all checks, every text in full.
    """
    screen = Screen(console(own=view.here), everything=everything)
    if everything:
        screen.show(line(f"tritonwin {__version__}"))
    screen.show(Prose(view.headline, tone=view.tone, indent=0), *view.before)
    top = (each for each in (view.layers, view.checks) if each)
    screen.show(*top)
    for section in view.sections:
        screen.section(section, titled=section.title not in view.headline)
    if view.count:
        screen.show(view.notes or TextLine())
        more = "" if everything or not (view.sections or view.notes) else " --all shows all."
        screen.show(Prose(f"{view.count}{more}", indent=0))
    screen.show(*view.after)


def print_status(view: View) -> None:
    """The answer and the next step, for somebody who typed the name alone."""
    step = "tritonwin verify" if view.healthy else "tritonwin doctor"
    machine = dict(view.machine)
    Screen().show(
        Prose(view.headline, tone=view.tone, indent=0),
        line(f"Python {machine['Python']}", "faint"),
        line(f"{'To prove it' if view.healthy else 'What is wrong, and what helps'}: {step}"),
        line("Everything else: tritonwin --help", "faint"),
    )


def print_story(title: str, view: View) -> None:
    """A diagnosis in short: the answer, a line a layer, and the gravest problem."""
    screen = Screen(console(own=False))
    layers = (view.layers,) if view.layers else ()
    headline = Prose(view.headline, tone=view.tone, indent=0)
    screen.show(line(f"== {title}", "strong"), headline, *layers, *view.sections[:1], TextLine())


def print_lines(lines: Iterable[TextLine]) -> None:
    Screen().show(*lines)


def print_names(rows: Iterable[tuple[str, str]]) -> None:
    """Ids, each with its title."""
    Screen().show(*(line(name, "strong", Span(f"  {title}")) for name, title in rows))


def print_problem(out: Console, problem: Problem) -> None:
    Screen(out).show(views.section(problem))


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


def _in_short(text: str) -> str:
    return printable(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}...")


def _shortened(text: str, room: int) -> str:
    """The beginning and the end: of a path, both say more than the middle."""
    if len(text) <= max(room, _NARROWEST):
        return text
    half = (max(room, _NARROWEST) - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


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

"""Output for people. Own words are plain ASCII; colour is an addition, never the message."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

from tritonwin.output.blocks import (
    Block,
    CodeBlock,
    Fold,
    Prose,
    Section,
    Table,
    TextLine,
    Tone,
    line,
)
from tritonwin.output.documents import print_document
from tritonwin.output.invocation import spoken, typed
from tritonwin.output.text import printable
from tritonwin.system.codec import map_text

if TYPE_CHECKING:
    from rich.status import Status

    from tritonwin.output.view import View

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
_LAST_LINES = 6  # of a program's output
_QUIET = 60.0  # seconds between two lines of progress where no terminal shows it
_END = re.compile(r"(?<=[.?!]) ")


def console(stream: TextIO | None = None) -> Console:
    """A console that honours NO_COLOR and FORCE_COLOR and keeps commands whole in a pipe.

    Args:
        stream: where it writes; None: standard output.
    """
    stream = stream or sys.stdout
    made = Console(
        file=stream,
        highlight=False,
        emoji=False,
        markup=False,
        # rich would still write bold and dim, which is no plain text either
        force_terminal=False if os.environ.get("NO_COLOR") else None,
        width=None if stream.isatty() else _PIPE_WIDTH,
    )
    made.width = max(made.width, _NARROWEST)
    return made


class Screen:
    """The visitor of blocks that prints them.

    Args:
        own: commands are for this machine, and are shown as they are typed here.
        everything: unfold what is folded and shorten nothing.
    """

    def __init__(
        self, out: Console | None = None, *, own: bool = True, everything: bool = False
    ) -> None:
        self.out = out or console()
        self._own = own
        self._everything = everything
        # not by `is_terminal`, which NO_COLOR makes false
        self._width = (
            min(self.out.width, _PROSE_WIDTH) if self.out.width < _PIPE_WIDTH else _PIPE_WIDTH
        )

    def show(self, *blocks: Block) -> None:
        for block in (map_text(block, spoken) for block in blocks) if self._own else blocks:
            match block:
                case TextLine():
                    self._line(block)
                case Prose():
                    self._prose(block)
                case Table():
                    self._table(block)
                case CodeBlock(text=text, command=True):
                    self._say(f"      {typed(text) if self._own else text}", "strong")
                case CodeBlock(text=text):
                    lines = text.splitlines()
                    for each in lines if self._everything else lines[-_LAST_LINES:]:
                        self._say(f"      {each}", "faint")
                case Fold(blocks=inner, short=short):
                    self.show(*(inner if self._everything else short))
                case Section():
                    self._section(block)

    def _say(self, text: str, tone: Tone) -> None:
        """Print a line that is never wrapped; foreign text in it is made safe."""
        self.out.print(Text(printable(text), STYLES[tone]), soft_wrap=True)

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
            self._say(each, block.tone)

    def _wrapped(self, text: str, first: str, rest: str) -> list[str]:
        return textwrap.wrap(
            text,
            self._width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _table(self, table: Table) -> None:
        """One line a row; the last cell is shortened in its middle where it does not fit."""
        columns = zip(*table.rows, strict=True)
        widths = [max(len(cell.text) for cell in column) for column in columns]
        for row in table.rows:
            text = Text(" " * table.indent)
            for cell, width in zip(row[:-1], widths, strict=False):
                text.append("  ").append(printable(cell.text).ljust(width), STYLES[cell.tone])
            room = self.out.width - len(text) - 2
            last = Text(f"  {_shortened(_in_short(row[-1].text), room)}", STYLES[row[-1].tone])
            text.append(last)
            text.rstrip()
            self.out.print(text, soft_wrap=True)

    def _section(self, block: Section) -> None:
        """A problem or a rung; its title only where nothing has said it."""
        self.out.print()
        heading = Text(block.label, STYLES[block.tone])
        if block.title:
            heading.append(": ").append(_in_short(block.title), "bold")
        heading.append(f"  [{block.name}]", "dim")
        for each in heading.wrap(self.out, self._width):
            each.rstrip()
            self.out.print(each, soft_wrap=True)
        self.show(*block.body, *block.remedy)


def show(*blocks: Block, own: bool = True, everything: bool = False) -> None:
    """Print blocks on standard output; the arguments are those of `Screen`."""
    Screen(own=own, everything=everything).show(*blocks)


def print_view(view: View, *, everything: bool = False) -> None:
    """A report on one screen; `everything`: all checks, every text in full."""
    show(*view.screen(everything=everything), own=view.here, everything=everything)


def answer(document: object, blocks: Iterable[Block], *, as_json: bool) -> None:
    """Print what came of a command: a document for programs, or blocks for people."""
    if as_json:
        print_document(document)
    else:
        show(*blocks)


def print_note(text: str, tone: Tone = "plain") -> None:
    show(line(text, tone))


def agreed(question: str, stream: TextIO | None = None) -> bool:
    """Ask; True for yes. An input that has ended means no."""
    console(stream).print(Text(f"{printable(question)} [y/N] "), end="", soft_wrap=True)
    (stream or sys.stdout).flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _in_short(text: str) -> str:
    return printable(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}...")


def _shortened(text: str, room: int) -> str:
    """The beginning and the end: of a path, both say more than the middle."""
    if len(text) <= max(room, _NARROWEST):
        return text
    half = (max(room, _NARROWEST) - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


class Meter(AbstractContextManager["Meter"]):
    """Progress of long work: the last line of a terminal, elsewhere a line a minute.

    Args:
        everything: of what is shown in between, shorten nothing.
    """

    def __init__(self, *, everything: bool = False) -> None:
        self._screen = Screen(everything=everything)
        self._status: Status | None = None
        self._said = time.monotonic()

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was, also after work that failed."""
        if self._status:
            self._status.stop()
        self._status = None

    def update(self, text: str) -> None:
        """So much is done."""
        out, now = self._screen.out, time.monotonic()
        if out.is_terminal:
            self._status = self._status or out.status("", spinner="line")
            self._status.update(Text(printable(text), overflow="crop", no_wrap=True))
            self._status.start()
        elif now - self._said >= _QUIET:
            self._said = now
            self._screen.show(line(text, indent=2))

    def show(self, *blocks: Block) -> None:
        """Something else, in the place of the progress."""
        self.__exit__()
        self._screen.show(*blocks)

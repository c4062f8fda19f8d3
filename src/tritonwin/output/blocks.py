"""Blocks: the small tree that terminal, HTML and Markdown render, by one visitor each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

# How a text looks: each format has its own way, and the words say the same without it.
Tone = Literal["plain", "strong", "faint", "good", "notice", "warning", "bad", "absent", "crashed"]


# labels of paragraphs: a piece of evidence, and an address to read more at
EVIDENCE, SEE = "- ", "see "


@dataclass(frozen=True)
class Span:
    """A text in one tone; foreign text in it is made safe by the visitor."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class TextLine:
    """Spans in one line, which a terminal never wraps; without any, an empty line.

    Attributes:
        indent: in characters; a format without columns ignores it.
    """

    spans: tuple[Span, ...] = ()
    indent: int = 0


@dataclass(frozen=True)
class Prose:
    """A paragraph.

    Attributes:
        label: stands before it: "help: ".
        most: lines on a terminal, which leaves out whole sentences; None: all of them.
    """

    text: str
    label: str = ""
    most: int | None = None
    tone: Tone = "plain"
    indent: int = 4


@dataclass(frozen=True)
class Table:
    """Rows of cells, one line each; a terminal shortens the last cell to fit."""

    rows: tuple[tuple[Span, ...], ...]
    indent: int = 0


@dataclass(frozen=True)
class CodeBlock:
    """A command to copy, never wrapped; or a program's output."""

    text: str
    command: bool = True


@dataclass(frozen=True)
class Fold:
    """Blocks that are shown on request.

    Attributes:
        short: lines that stand for them where nothing can be unfolded.
    """

    title: str
    blocks: tuple[Block, ...]
    short: tuple[TextLine, ...] = ()


@dataclass(frozen=True)
class Section:
    """A problem or a rung: its title, what is known of it, and what to do.

    Attributes:
        name: an id, unique in the report.
        label: its state in a word or two, which has the tone.
        title: empty where it was said already.
    """

    name: str
    label: str
    title: str
    tone: Tone
    body: tuple[Block, ...]
    remedy: tuple[Block, ...] = ()


Block: TypeAlias = "TextLine | Prose | Table | CodeBlock | Fold | Section"


def line(text: str = "", tone: Tone = "plain", *more: Span, indent: int = 0) -> TextLine:
    """A line that begins with a text in one tone."""
    return TextLine((Span(text, tone), *more) if text or more else (), indent)


def pairs(rows: Iterable[tuple[str, str]], indent: int = 0) -> Table:
    """Names with their values."""
    return Table(tuple((Span(name, "faint"), Span(value)) for name, value in rows), indent)

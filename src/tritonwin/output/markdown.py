"""Reports as Markdown, for issues. Foreign text brings no markup, no mention and no end of a block.

It stands in code alone, where GitHub decodes no backslash and no entity, and makes no mention,
reference or link. A diagnosis fills the fields of triton-windows' form for bugs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tritonwin import __version__
from tritonwin.output.blocks import (
    EVIDENCE,
    Block,
    CodeBlock,
    Fold,
    Prose,
    Section,
    TextLine,
)
from tritonwin.output.text import printable
from tritonwin.output.view import View

_LONGEST_CELL = 300
_LONGEST = 65_000  # characters; GitHub takes 65,536 for an issue
_LONGEST_REPORT = 25_000  # the rest is for the log
_LONGEST_OUTPUT = 6_000  # of one program
# Nothing in it means anything: no digit of a reference, no dot of an address.
_PLAIN = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*")
_COMMIT = re.compile(r"\b[0-9a-fA-F]{7,40}\b")


def issue(view: View, log: str | None = None) -> str:
    """A diagnosis as the text of an issue; everything must be redacted already.

    Args:
        log: the output of the program; folded, its end where it is too long for an issue.
    """
    first = (
        "### Describe the bug\n\n"
        "<!-- What did you run, what did you expect, what happened? Put the command here. -->\n"
    )
    rest = report(view)
    if log is not None:
        block = fenced(log, _LONGEST - len(first) - len(rest) - 100)
        rest = f"<details><summary>Full log</summary>\n\n{block}\n\n</details>\n\n{rest}"
    return f"{first}\n{rest}"


def report(view: View) -> str:
    """The machine, and what was found on it; each line stands for itself, so the end may go."""
    said, room = "", _LONGEST_REPORT
    for each in _findings(view):
        room -= len(each) + 1
        if room < 0:
            return f"{said}- [...]\n"
        said += f"{each}\n"
    return said


def _findings(view: View) -> Iterator[str]:
    yield f"<!-- {view.schema} -->"
    yield "### Environment details"
    yield ""
    for name, value in view.machine:
        yield f"{name}: {inline(value)}  "
    yield ""
    yield f"### What tritonwin {__version__} found"
    yield ""
    yield inline(view.headline)
    yield from _told(view.body)


def _told(blocks: Iterable[Block], indent: str = "") -> Iterator[str]:
    """Problems and rungs, also what is folded, with their evidence, commands and output."""
    for block in blocks:
        match block:
            case Section():
                yield f"- **{block.label}** `{block.name}`: {inline(block.title)}"
                yield from _told((*block.body, *block.remedy), "  ")
            case Prose(label="- " | "help: "):
                label = block.label.removeprefix(EVIDENCE)
                yield f"{indent}- {label}{inline(block.text)}"
            case CodeBlock(command=True):
                yield f"{indent}- {inline(block.text)}"
            case CodeBlock():
                yield f"\n{fenced(block.text, _LONGEST_OUTPUT)}\n"
            case TextLine(spans=spans) if spans:
                yield f"{indent}- {inline(''.join(span.text for span in spans))}"
            case Fold():
                yield from _told(block.blocks, indent)


def inline(text: str) -> str:
    """Text that a line shows as it is, as code where it could mean anything; cut if too long."""
    shown = printable(" ".join(text.split()))
    cut = shown if len(shown) <= _LONGEST_CELL else f"{shown[:_LONGEST_CELL]}..."
    if not cut or (_PLAIN.fullmatch(cut) and not _COMMIT.search(cut)):
        return cut
    fence = "`" * (_longest_run(cut) + 1)
    pad = " " if cut[0] == "`" or cut[-1] == "`" else ""
    return f"{fence}{pad}{cut}{pad}{fence}"


def fenced(text: str, limit: int = _LONGEST) -> str:
    """A block of text that nothing inside can end; the end of it, in `limit` characters."""
    said = "\n".join(printable(line) for line in text.splitlines())
    # the fence is chosen after the cut: at most a third of the block each
    room = limit - 2 * (_longest_run(said[-limit:]) + 1) - len("``text\n[...]\n\n``") - 4
    if len(said) > room:
        said = f"[...]\n{said[-max(room, limit // 4) :]}"
    fence = "`" * max(3, _longest_run(said) + 1)
    return f"{fence}text\n{said}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)

"""Reports as Markdown, for issues. Foreign text brings no markup, no mention and no end of a block.

It stands in code alone, where GitHub decodes no backslash and no entity, and makes no mention,
reference or link. A diagnosis fills the fields of triton-windows' form for bugs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tritonwin import __version__
from tritonwin.output.blocks import EVIDENCE, Block, CodeBlock, Fold, Prose, Section
from tritonwin.output.documents import VerifyReport
from tritonwin.output.text import printable
from tritonwin.output.view import RUNGS, STATE_WORDS, View, proof_verdict
from tritonwin.verify.records import BROKEN, Proof, RungResult

_LONGEST_CELL = 300
_LONGEST = 65_000  # characters; GitHub takes 65,536 for an issue
_MOST_WITHOUT_LOGS = 25_000
_MOST = 8  # problems in full
# Nothing in it means anything: no digit of a reference, no dot of an address.
_PLAIN = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*")
_COMMIT = re.compile(r"\b[0-9a-fA-F]{7,40}\b")


def issue(view: View, log: str | None = None) -> str:
    """A diagnosis as the text of an issue; everything must be redacted already.

    Args:
        log: the output of the program; folded, its end where it is too long for an issue.
    """
    first = (
        "### Describe the bug",
        "",
        "<!-- What did you run, what did you expect, what happened? Put the command here. -->",
        "",
    )
    rest = tuple(_within(_findings(view), _MOST_WITHOUT_LOGS))
    room = _LONGEST - len("\n".join((*first, *rest)))
    folded = _folded("Full log", log, room) if log is not None else ()
    return "\n".join((*first, *folded, *rest)) + "\n"


def _within(lines: Iterable[str], limit: int) -> Iterator[str]:
    """The lines up to a number of characters; each stands for itself."""
    for line in lines:
        limit -= len(line) + 1
        if limit < 0:
            yield "- [...]"
            return
        yield line


def _findings(view: View) -> Iterator[str]:
    yield "### Environment details"
    yield ""
    for name, value in view.machine:
        yield f"{name}: {inline(value)}  "
    yield ""
    yield f"### What tritonwin {__version__} doctor found"
    yield ""
    notes = view.notes.blocks if view.notes else ()
    found = [each for each in (*view.sections, *notes) if isinstance(each, Section)]
    if view.healthy:
        yield view.headline
    for section in found[:_MOST]:
        yield _heading(section)
        yield from _told((*section.body, *section.remedy))
    yield from map(_heading, found[_MOST:])
    for failed in view.checks.short if view.checks else ():
        yield f"- {inline(''.join(span.text for span in failed.spans))}"


def _heading(section: Section) -> str:
    return f"- **{section.label}** `{section.name}`: {inline(section.title)}"


def _told(blocks: Iterable[Block]) -> Iterator[str]:
    """The evidence, also what is folded, and the remedy that a screen shows."""
    for block in blocks:
        match block:
            case Prose(label=label, text=text) if label == EVIDENCE:
                yield f"  - {inline(text)}"
            case Prose(label="help: ", text=text):
                yield f"  - help: {inline(text)}"
            case CodeBlock(text=text, command=True):
                yield f"  - {inline(text)}"
            case Fold(blocks=inner):
                yield from _told(each for each in inner if getattr(each, "label", "") == EVIDENCE)


def _folded(title: str, text: str, room: int) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield fenced(text, room - 100)
    yield ""
    yield "</details>"
    yield ""


def proof(report: VerifyReport) -> str:
    """A table of the machine, one of the rungs, and the output of each broken one."""
    broken = [rung for rung in report.rungs if rung.state in BROKEN]
    lines = [*_within(_tables(report), _MOST_WITHOUT_LOGS)]
    for rung in broken:
        lines += _broken(rung, (_LONGEST - _MOST_WITHOUT_LOGS) // len(broken))
    return "\n".join(lines) + "\n"


def _tables(report: VerifyReport) -> Iterator[str]:
    said = proof_verdict(Proof(results=report.rungs), rungs=report.ladder)
    yield f"<!-- {report.schema} -->"
    yield f"## tritonwin verify: {said}"
    yield ""
    yield f"{report.tool.name} {report.tool.version}, {report.when or ''}"
    yield ""
    yield "| | |"
    yield "| --- | --- |"
    for name, value in {**report.machine, "kernels compiled for": report.built_for}.items():
        yield f"| {_cell(name)} | {_cell(value)} |"
    yield ""
    yield "| | rung | result | s | seen |"
    yield "| --- | --- | --- | ---: | --- |"
    for rung in report.rungs:
        mark = {"good": "ok", "bad": "**X**"}.get(RUNGS[rung.state][1], "-")
        state, seconds = STATE_WORDS[rung.state], f"{rung.seconds:.1f}" if rung.seconds else ""
        yield f"| {mark} | {rung.id} | {state} | {seconds} | {_cell(rung.detail)} |"


def _broken(rung: RungResult, room: int) -> Iterator[str]:
    yield ""
    yield f"### {rung.id}: {STATE_WORDS[rung.state]}"
    yield ""
    if rung.problems:
        names = ", ".join(f"`{name}`" for name in rung.problems)
        yield f"Known problems that it looks like: {names}"
        yield ""
        room -= len(names)
    yield fenced(rung.traceback or rung.detail, room - 300)


def inline(text: str) -> str:
    """Text that a line shows as it is, as code where it could mean anything; cut if too long."""
    shown = printable(" ".join(text.split()))
    cut = shown if len(shown) <= _LONGEST_CELL else f"{shown[:_LONGEST_CELL]}..."
    if not cut or (_PLAIN.fullmatch(cut) and not _COMMIT.search(cut)):
        return cut
    fence = "`" * (_longest_run(cut) + 1)
    pad = " " if cut[0] == "`" or cut[-1] == "`" else ""
    return f"{fence}{pad}{cut}{pad}{fence}"


def _cell(text: str) -> str:
    """Text in a cell of a table, which a bar would end, in code as well."""
    return inline(text.replace("|", "\N{BROKEN BAR}"))


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
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest

"""The page of a problem from the catalogue: what helps, why, and how to check it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tritonwin.output.blocks import SEE, Block, CodeBlock, Prose, Span, TextLine, line
from tritonwin.problems.catalogue import Catalogue, Entry

Said: TypeAlias = Callable[[str], str]  # makes a general text of one with {placeholders}

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_PLAN = (
    "Begin the line as you start tritonwin, such as .\\python_embeded\\python.exe tritonwin.pyz. "
    "It shows its plan first, and undo restores what was there."
)


def of_entry(entry: Entry, catalogue: Catalogue, said: Said) -> Iterator[Block]:
    """The page for a terminal."""
    yield Prose(capital(entry.title), tone="strong", indent=0)
    yield line(f"{entry.id}, {described(entry)}", "faint")
    for heading, blocks in parts(entry, catalogue, said):
        yield from (TextLine(), line(heading, "strong"), *blocks)


def capital(title: str) -> str:
    return title[0].upper() + title[1:]


def described(entry: Entry) -> str:
    """Its severity, who finds it, and who repairs it."""
    by = (("doctor", entry.check), ("explain", entry.signatures))
    found = " and ".join(name for name, finds in by if finds)
    repaired = "repaired by fix" if entry.actions else "repaired by hand"
    return f"{entry.severity}, found by {found}, {repaired}"


def parts(entry: Entry, catalogue: Catalogue, said: Said) -> Iterator[tuple[str, Sequence[Block]]]:
    """Headings, each with its blocks."""
    yield "Quick fix", tuple(_fix(entry, said))
    yield "Why", (Prose(said(entry.cause)),)
    yield "How to check", tuple(_check(entry, said))
    if related := tuple(_related(entry, catalogue)):
        yield "Related", related


def _fix(entry: Entry, said: Said) -> Iterator[Block]:
    if entry.actions:
        yield from (CodeBlock(f"tritonwin fix --only {entry.id}"), Prose(_PLAN), Prose("By hand:"))
    by_hand = [c for c in entry.remedy.commands if not c.startswith("tritonwin fix")]
    yield Prose(said(entry.remedy.summary))
    yield from _commands(by_hand)
    for each in entry.remedies:
        met = ", ".join(f"{fact} is {' or '.join(of)}" for fact, of in each.when.conditions())
        yield Prose(said(each.summary), label=f"Where {met}: ")
        yield from _commands(each.commands)
    if any(map(_PLACEHOLDER.search, by_hand)):
        yield Prose("What is in capitals here, doctor fills in for your machine.")


def _commands(commands: Sequence[str]) -> Iterator[CodeBlock]:
    """Commands of the catalogue; what a finding fills in is in capitals."""
    return (CodeBlock(_PLACEHOLDER.sub(lambda m: m[1].upper(), c)) for c in commands)


def _check(entry: Entry, said: Said) -> Iterator[Block]:
    if entry.check:
        yield CodeBlock(f"tritonwin doctor --only {entry.id}")
        where = "" if entry.check.windows_only else " (also on Linux)"
        yield Prose(
            f"On the machine{where} it looks whether {entry.check.title}, and shows what it saw "
            "and where."
        )
    if entry.signatures:
        yield CodeBlock("tritonwin explain LOG")
        why = f" Only a log can show it: {entry.log_only}." if entry.log_only else ""
        yield Prose(f"With the output of the program.{why}")
    if entry.question:
        yield Prose(said(entry.question.text))
        yield from _commands([entry.question.command])


def _related(entry: Entry, catalogue: Catalogue) -> Iterator[Block]:
    causes = (other.id for other in catalogue.entries.values() if entry.id in other.explains)
    for verb, names in (("may follow from", causes), ("may cause", entry.explains)):
        for name in names:
            title = Span(f": {catalogue.entry(name).title}")
            yield line(f"{verb} ", "plain", Span(name, "strong"), title, indent=4)
    yield from (Prose(address, label=SEE, tone="faint") for address in entry.references)

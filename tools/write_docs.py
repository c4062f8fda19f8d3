#!/usr/bin/env python3
"""Write the pages of docs/ that follow from data. A test fails when one is stale."""

from __future__ import annotations

from pathlib import Path

from tritonwin.problems import catalogue
from tritonwin.problems.checks import CHECKS
from tritonwin.verify import table

DOCS = Path(__file__).resolve().parent.parent / "docs"

_HEAD = """\
# What doctor checks, and what only a log can show

This page is written by `tools/write_docs.py` from the catalogue of problems; do not edit it.

Every check bears the id of the problem that it looks for. Checks marked "any system" also run on
Linux; the others are a matter of Windows.
"""


def checks_page() -> str:
    """The page `checks.md`: every check, and every problem that no check can find, with why."""
    entries = catalogue.load().entries
    lines = [_HEAD, f"## The {len(CHECKS)} checks", "", "| id | as it should be | where |",
             "| --- | --- | --- |"]  # fmt: skip
    lines += [
        f"| `{c.id}` | {c.title} | {'Windows' if c.windows_only else 'any system'} |"
        for c in CHECKS
    ]
    lines += ["", "## What only a log can show", "", "| id | why |", "| --- | --- |"]
    lines += [f"| `{e.id}` | {e.log_only} |" for e in entries.values() if e.log_only]
    return "\n".join(lines) + "\n"


_LADDER = """\
# The rungs of the proof ladder

This page is written by `tools/write_docs.py` from `verify/rungs/ladder.toml`; do not edit it. What
the ladder is and how it is read: [verify.md](verify.md).

A rung is tried when the rungs that it needs have passed, when the packages are installed and when
the machine has what it asks for; otherwise the report says which of these is missing. It is given
up after its limit, or after what `--rung-timeout` says.
"""


def ladder_page() -> str:
    """The page `ladder.md`: every rung, what it proves and what it asks for."""
    lines = [_LADDER, "| | id | what is proven when it passes | needs | asks for | limit, s |",
             "| ---: | --- | --- | --- | --- | ---: |"]  # fmt: skip
    for number, rung in enumerate(table.load(), 1):
        asks = ", ".join((*rung.packages, *rung.demands))
        needs = ", ".join(rung.needs)
        lines.append(
            f"| {number} | `{rung.id}` | {rung.proves} | {needs} | {asks} | {rung.limit:g} |"
        )
    return "\n".join(lines) + "\n"


PAGES = {"checks.md": checks_page, "ladder.md": ladder_page}


def main() -> None:
    DOCS.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()

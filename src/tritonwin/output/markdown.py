"""Foreign text inside Markdown: no markup of its own, no mention of anybody, no end of a block."""

from __future__ import annotations

from tritonwin.output.text import printable

_LONGEST_CELL = 300
_MEANINGFUL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#~@"})


def inline(text: str) -> str:
    """Text that a line or a table's cell shows as it is, cut where it is too long."""
    shown = printable(" ".join(text.split()))
    cut = shown if len(shown) <= _LONGEST_CELL else f"{shown[:_LONGEST_CELL]}..."
    return cut.translate(_MEANINGFUL)


def fenced(text: str) -> str:
    """A block of text that nothing inside can end."""
    said = "\n".join(printable(line) for line in text.splitlines())
    fence = "`" * max(3, _longest_run(said) + 1)
    return f"{fence}text\n{said}\n{fence}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest

"""Foreign text made safe to print: no terminal escape, no line of its own."""

from __future__ import annotations

import re

# C0 and C1 controls, bidirectional overrides and lone surrogates: what could move the cursor,
# change the order of what is read, or break the encoder.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with every unsafe character as a visible escape (`\\x1b`)."""
    return _UNSAFE.sub(lambda m: m[0].encode("unicode_escape", "surrogatepass").decode(), text)

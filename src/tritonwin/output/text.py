"""Words for people: foreign text made safe to print, and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# C0 and C1 controls, line separators, bidirectional overrides, characters without a width and lone
# surrogates: what could move the cursor, change the order of what is read, hide in what is copied,
# or break the encoder. (Unicode's categories Cc, Zl, Zp and Cs, and of Cf what no script needs.)
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def size(count: int) -> str:
    """Bytes for people: "52.8 MB", "1.4 kB"."""
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def megabytes(done: int, total: int | None) -> str:
    """Progress of a download: "12.0/286.1 MB"."""
    return f"{done / 1e6:.1f}/{f'{total / 1e6:.1f}' if total else '?'} MB"


def number(count: int, name: str) -> str:
    """ "1 check", "2 checks"."""
    return f"{count} {name}{'' if count == 1 else 's'}"


def few(lines: Sequence[str], most: int, rest: str = "more") -> Iterator[str]:
    """The first lines, and how many more there are."""
    yield from lines[:most]
    if len(lines) > most:
        yield f"and {len(lines) - most} {rest}"


def printable(text: str) -> str:
    """The text with every unsafe character as a visible escape (`\\x1b`)."""
    return _UNSAFE.sub(lambda m: m[0].encode("unicode_escape", "surrogatepass").decode(), text)

"""Words of command lines for cmd, PowerShell and batch files.

A path may come from somebody else's snapshot or log, and is copied with the rest of a command. So
what could end its quotes, or be expanded inside them, is refused: the answer is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tritonwin.errors import UserError

# typographic quotes are quotes to PowerShell
_UNSAFE = re.compile(r"[\"`$%!\x00-\x1f\x7f-\x9f\u201c-\u201f\u2028\u2029]|\\\Z")
_PLAIN = re.compile(r"[\w:\\/.~+-]+")
_SPECIAL = frozenset("&|<>^")  # cmd reads them outside of quotes
_LONGEST = 8191  # characters of a line that cmd reads


def word(path: str) -> str | None:
    """The path as one word for cmd, PowerShell and sh, in double quotes only where it needs them.

    None where no quotes make it one word in all of these shells.
    """
    if _UNSAFE.search(path):
        return None
    return path if _PLAIN.fullmatch(path) else f'"{path}"'


class ScriptError(UserError):
    """Something cannot be written into a script."""


def batch(lines: Iterable[str]) -> str:
    """The lines as a batch file.

    Raises:
        ScriptError: cmd would refuse one as too long.
    """
    text = [f"{line}\r\n" for line in lines]
    if any(len(line) > _LONGEST for line in text):
        raise ScriptError(
            "a line of the batch file would be longer than cmd reads: 8,191 characters",
            "Give fewer options, or do it without a batch file.",
        )
    return "".join(text)


def batch_word(text: str) -> str:
    """The text as one quoted word in a batch file; raises ScriptError."""
    if '"' in text or not text.isprintable():
        raise _unwritable(text)
    backslashes = len(text) - len(text.rstrip("\\"))  # one before a quote would escape it
    return '"' + text.replace("%", "%%") + "\\" * backslashes + '"'


def batch_call(text: str) -> str:
    """A batch file as the word after `call`, which expands percent signs again and adds carets."""
    if "%" in text or "^" in text:
        raise _unwritable(text)
    return batch_word(text)


def batch_value(value: str) -> str:
    """The value inside of `set "NAME=..."` in a batch file; raises ScriptError."""
    outside = "".join(value.split('"')[1::2])  # the quote before NAME is open where it begins
    if not value.isprintable() or not _SPECIAL.isdisjoint(outside):
        raise _unwritable(value)
    return value.replace("%", "%%")


def _unwritable(text: str) -> ScriptError:
    return ScriptError(
        f"{text!r} cannot be written into a batch file",
        "Leave it out of the option it comes from, or do it without a batch file.",
    )

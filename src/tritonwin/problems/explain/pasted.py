"""Logs that were pasted: as one literal of JSON or Python, or with the backslashes lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tritonwin.problems.explain.lines import READING

LOOKED_AT = 100_000  # characters, the beginning of a log
_OPENS = ('"', "'", "{", "[", 'b"', "b'")
_MANY = 2  # line ends that are spelled out
_DRIVE = re.compile(r"[A-Za-z]:\\(?![\\nrtux\"'])")  # in a literal two backslashes follow
_ESCAPE = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|((?:\\x[0-9a-fA-F]{2})+)|\\(.)", re.DOTALL)
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}

# A path after its drive, or after the dot of the current folder, in which no separator is left.
_GLUED = re.compile(
    r"""(?:(?:(?<![A-Za-z])|(?<=-[IL]))[A-Za-z]:|(?<!\S)\.)(?=[A-Za-z_.])"""
    r"""[^"'<>|*?,:()\[\]\\/\n]{8,300}"""
)
_PART = re.compile(
    rf"(?<=[\w.)-])(?={'|'.join(READING.parts)})|(?<=site-packages)(?=\w)|"
    + "|".join(rf"(?<=packages{name})(?=\w)" for name in READING.packages)
)


def restored(blocks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """The blocks of a log as the program printed them, and whether its paths had to be guessed."""
    literal = glued = False
    for number, block in enumerate(blocks):
        if number == 0:  # people paste one form; the beginning tells which
            literal = _is_literal(block[:LOOKED_AT])
            glued = any(glue in block for glue in READING.glue)
        text = _ESCAPE.sub(_meaning, block) if literal else block
        yield (
            (_GLUED.sub(lambda path: _PART.sub(r"\\", path[0]), text), True)
            if glued
            else (text, False)
        )


def _is_literal(head: str) -> bool:
    """True for a text in which line ends are spelled out, and not just within a line."""
    if not head.lstrip("\ufeff \r\n").startswith(_OPENS):
        return False
    spelled = head.count("\\n")
    return spelled >= _MANY and spelled > 5 * head.count("\n") and not _DRIVE.search(head)


def _meaning(escape: re.Match[str]) -> str:
    if escape[1]:
        units = bytes.fromhex(escape[1].replace("\\u", ""))
        return units.decode("utf-16-be", "replace")
    if escape[2]:
        octets = bytes.fromhex(escape[2].replace("\\x", ""))
        try:
            return octets.decode("utf-8")
        except UnicodeDecodeError:
            return octets.decode("latin-1")
    return _MEANS.get(escape[3], escape[3])

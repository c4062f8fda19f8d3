"""What keeps a signature's regular expression from being searched in linear time, or is a slip."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from tritonwin.problems.placeholders import PLACEHOLDERS

if sys.version_info >= (3, 11):
    from re import _parser as regex_parser
else:
    import sre_parse as regex_parser

MAX_REPEAT = 2000


def flaws(line: str) -> Iterator[str]:
    """What keeps a regular expression from being searched in linear time, or is a slip.

    A repeat within a repeat, two unbounded repeats, or large bounds can make a backtracking
    engine try a line's parts in quadratically or exponentially many ways.
    """
    try:
        tree = regex_parser.parse(line)
    except re.error as error:
        yield f"not a regular expression: {error}"
        return
    for name in tree.state.groupdict:
        if name not in PLACEHOLDERS:
            yield f"group {name!r} is no placeholder"
    yield from _repeats(tree, inside=False)


def _repeats(tree: Any, *, inside: bool) -> Iterator[str]:
    for operator, argument in tree:
        name = str(operator)
        if name in {"MAX_REPEAT", "MIN_REPEAT"}:
            _, most, body = argument
            if most > MAX_REPEAT:
                yield "a repeat without a bound: write {0,300} or the like, not * or +"
            if inside and most > 1:
                yield "a repeat within a repeat"
            yield from _repeats(body, inside=inside or most > 1)
        elif name == "SUBPATTERN":
            yield from _repeats(argument[-1], inside=inside)
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _repeats(branch, inside=inside)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            yield from _repeats(argument[1], inside=inside)

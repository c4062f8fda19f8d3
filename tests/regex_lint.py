"""Flaws of a signature's regular expression: a search that is not linear, or a slip."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from tritonwin.problems import catalogue

if sys.version_info >= (3, 11):
    from re import _parser as regex_parser
else:
    import sre_parse as regex_parser

MAX_REPEAT = 2000


def flaws(line: str) -> Iterator[str]:
    """Reasons why a regular expression is not searched in linear time, and slips.

    A repeat within a repeat, two unbounded repeats, or large bounds can make a backtracking
    engine try a line's parts in quadratically or exponentially many ways.
    """
    try:
        tree = regex_parser.parse(line)
    except re.error as error:
        yield f"not a regular expression: {error}"
        return
    for name in tree.state.groupdict:
        if name not in catalogue.load().placeholders:
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


def samples(line: str, anchors: Iterable[str]) -> set[str]:
    """Texts that, repeated, give an expression as much to try in vain as possible."""
    tree = regex_parser.parse(line)
    whole = {_example(tree, longest=True), _example(tree, longest=False), *anchors}
    parts = {text[:end] for text in whole for end in (len(text) // 2, -1)}
    common = {"a", "\\", " ", "/", "C:\\", "1", "x\\", "'", "'a", "A.", "(", "w ", "_", "error "}
    return {unit for unit in whole | parts | {text + " " for text in whole} | common if unit}


def _example(tree: Any, *, longest: bool) -> str:
    """A text that the expression matches, its repeats as long or as short as they may be."""
    text = ""
    for operator, argument in tree:
        name = str(operator)
        if name == "LITERAL":
            text += chr(argument)
        elif name in {"NOT_LITERAL", "ANY"}:
            text += "y" if argument == ord("x") else "x"
        elif name == "IN":
            text += _member(argument)
        elif name in {"MAX_REPEAT", "MIN_REPEAT"}:
            least, most, body = argument
            text += _example(body, longest=longest) * (min(most, 300) if longest else least)
        elif name == "SUBPATTERN":
            text += _example(argument[-1], longest=longest)
        elif name == "BRANCH":
            text += _example(argument[1][0 if longest else -1], longest=longest)
    return text


def _member(items: Any) -> str:
    """A character of a class."""
    if str(items[0][0]) == "NEGATE":
        excluded = {chr(argument) for operator, argument in items if str(operator) == "LITERAL"}
        return next(c for c in "x \\/a1" if c not in excluded)
    operator, argument = items[0]
    if str(operator) == "CATEGORY":
        return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(argument), "w")
    return chr(argument if str(operator) == "LITERAL" else argument[0])

"""One regular expression for many literals, with common beginnings written once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_Trie = dict[str, Any]
_END = ""


def trie_regex(literals: Iterable[str]) -> re.Pattern[str]:
    """An expression that finds where one of the literals begins; shorter ones win.

    It tells that there is one, not which: a literal that begins with another is not looked for.
    """
    trie: _Trie = {}
    for literal in sorted(literals, key=len):
        node = trie
        for character in literal:
            if _END in node:
                break
            node = node.setdefault(character, {})
        node[_END] = {}
    return re.compile(_expression(trie) if trie else r"(?!)")


def _expression(node: _Trie) -> str:
    if _END in node:
        return ""
    branches = [re.escape(character) + _expression(below) for character, below in node.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"

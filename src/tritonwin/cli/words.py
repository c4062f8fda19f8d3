"""The words of a command line, before click reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tritonwin.errors import UserError

_NO_VALUE = re.compile("--[a-z-]+=")


def understood(args: Sequence[str]) -> list[str]:
    """The words as click is to read them: `help X` is `X --help`.

    Raises:
        UserError: one is empty, as it becomes where a variable in it is not set. Taken as a path
            that would be the current folder, and as a name whatever comes first.
    """
    words = list(args)
    own = words[: words.index("--")] if "--" in words else words
    for before, word in zip(("", *own), own, strict=False):
        if word and not _NO_VALUE.fullmatch(word):
            continue
        option = word.rstrip("=") or (before if before.startswith("-") else "")
        what = f"nothing stands behind {option}" if option else "one of the words is empty"
        raise UserError(f"{what}; is a variable not set?", "Leave it out, or write what is meant.")
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return words

"""Parts of a page that a program writes: between `<!-- generated: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_PART = re.compile(r"<!-- generated: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(page: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """The page with these parts written anew; parts of other names stay as they are."""

    def part(found: re.Match[str]) -> str:
        name = found[1]
        if name not in parts:
            return found[0]
        text = parts[name]().strip("\n")
        return f"<!-- generated: {name} -->\n\n{text}\n\n<!-- end -->"

    return _PART.sub(part, page)

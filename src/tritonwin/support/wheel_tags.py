"""Which wheels a Python can load, and in words why it cannot load one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from packaging import tags
from packaging.tags import Tag

from tritonwin.facts.model import Interpreter


def supported(target: Interpreter) -> tuple[Tag, ...]:
    """The tags of wheels that this CPython loads, the best first; empty when it is not known.

    The platforms of Linux are those of the running system: glibc's version is no fact of a target.
    """
    found = re.match(r"(\d+)\.(\d+)", target.version or "")
    if found is None or not target.platform_tag:
        return ()
    python = (int(found[1]), int(found[2]))
    platforms = [target.platform_tag]
    if sys.platform == "linux" and target.platform_tag.startswith("linux"):
        platforms = list(tags.platform_tags())
    interpreter = f"cp{python[0]}{python[1]}"
    abi = interpreter + ("t" if target.free_threaded else "")
    return tuple(
        dict.fromkeys(
            (
                *tags.cpython_tags(python, abis=[abi], platforms=platforms),
                *tags.compatible_tags(python, interpreter, platforms),
            )
        )
    )


def rank(wheel: Iterable[Tag], target: tuple[Tag, ...]) -> int | None:
    """The place of the wheel's best tag among the target's (0 is best); None: it does not fit."""
    places = {tag: place for place, tag in enumerate(target)}
    return min((places[tag] for tag in wheel if tag in places), default=None)


def misfit(wheel: Iterable[Tag], target: tuple[Tag, ...]) -> str | None:
    """Why the wheel cannot be loaded: "cp311, this Python is cp313"; None where it fits."""
    wheel = frozenset(wheel)
    if rank(wheel, target) is not None:
        return None
    if not target:
        return "the tags that this Python loads are not known"
    platforms = sorted({t.platform for t in wheel})
    if not {t.platform for t in target}.intersection(platforms):
        return f"made for {', '.join(platforms)}, this Python is {_platform(target)}"
    pythons = sorted({_python_and_abi(t) for t in wheel})
    return f"made for {', '.join(pythons)}, this Python is {target[0].abi}"


def _platform(target: tuple[Tag, ...]) -> str:
    return target[0].platform


def _python_and_abi(tag: Tag) -> str:
    if tag.abi == "abi3":
        return f"{tag.interpreter} or later"
    return tag.interpreter if tag.abi in {"none", tag.interpreter} else tag.abi

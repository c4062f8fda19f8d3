"""Tools in the order in which a program looks for them: the first that will do is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeVar

from tritonwin.system.files import same_place


class Tool(Protocol):
    """A record of a tool, which says whether it is the one that would be taken."""

    @property
    def chosen(self) -> bool: ...


Found = TypeVar("Found")
Judged = TypeVar("Judged", bound=Tool)


def in_order(
    candidates: Iterable[Found],
    place: Callable[[Found], Path],
    judge: Callable[[Found, Judged | None], Judged],
) -> tuple[Judged, ...]:
    """The tool of every candidate, each place once.

    Args:
        place: where a candidate lies.
        judge: makes the record of a candidate; given the tool that was chosen before it, if any.
    """
    listed: dict[str, Judged] = {}
    taken: Judged | None = None
    for found in candidates:
        key = same_place(place(found))
        if key in listed:
            continue
        listed[key] = tool = judge(found, taken)
        taken = tool if tool.chosen else taken
    return tuple(listed.values())

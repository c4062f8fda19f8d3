"""The outcome of `tritonwin guard`, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tritonwin.output.blocks import TextLine, line
from tritonwin.output.documents import TargetDocument
from tritonwin.remedies.records import GuardOutcome, GuardState


@dataclass(frozen=True, kw_only=True)
class GuardReport(GuardOutcome, TargetDocument):
    """The document of `tritonwin guard on|off|status`."""

    schema: Literal["tritonwin.guard/1"] = "tritonwin.guard/1"


_VERDICTS: dict[GuardState, str] = {
    "on": "The guard is on.",
    "off": "The guard is off: any program may replace torch and Triton.",
    "switched-on": "Switched on. To allow other versions: tritonwin guard off",
    "switched-off": "Switched off: any program may replace torch and Triton.",
    "unchanged": "It was so before; nothing was changed.",
}


def of_guard(outcome: GuardOutcome) -> Iterator[TextLine]:
    """A line per version that is kept, the files, and what to do."""
    drifted = {each.name: each.now or "not there" for each in outcome.drifted}
    for name, version in outcome.kept.items():
        now = drifted.get(name)
        yield line(f"  {name:<16} {version}" + (f"  now {now}" if now else ""))
    for file in outcome.changed or outcome.files:
        yield line(f"  {'changed' if outcome.changed else 'in'} {file}")
    for file in outcome.missing:
        yield line(f"Missing or changed in {file}. To write it again: tritonwin guard on")
    for file in outcome.left:
        yield line(f"uv does not keep to it in the folder of {file}, which has its own constraints")
        yield line(f"  or begins with a byte order mark. Add there the lines of {outcome.uv}")
    if drifted:
        yield line("Replaced all the same. See what that means: tritonwin doctor")
    for name in outcome.overruled if outcome.kept else ():
        yield line(f"pip follows the variable {name} instead of this: remove it.")
    if outcome.uv:
        yield line(f"uv keeps to it where UV_CONSTRAINT names {outcome.uv}")
    yield line(_VERDICTS[outcome.status], "strong")

"""The outcome of `tritonwin driver`, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tritonwin.driver.records import DriverOutcome, DriverStatus
from tritonwin.output.blocks import TextLine, line
from tritonwin.output.documents import TargetDocument


@dataclass(frozen=True, kw_only=True)
class DriverReport(DriverOutcome, TargetDocument):
    """The document of `tritonwin driver on|off|status`."""

    schema: Literal["tritonwin.driver/1"] = "tritonwin.driver/1"


_VERDICTS: dict[DriverStatus, str] = {
    "on": "The driver in Python is on: no C compiler is needed to run kernels.",
    "off": "The driver in Python is off: Triton compiles its driver module at the first kernel.",
    "switched-on": "Switched on: kernels need no C compiler any more. Undo: tritonwin driver off",
    "switched-off": "Switched off: Triton compiles its driver module again.",
    "unchanged": "It was so before; nothing was changed.",
    "refused": "Nothing was changed: this Triton's driver is not known.",
}


def of_driver(outcome: DriverOutcome) -> Iterator[TextLine]:
    """A line per backend, the files, and what to do."""
    yield line(f"Triton {outcome.version or ''} in {outcome.package}", "strong")
    for backend in outcome.backends:
        known = "its driver is known" if backend.known else f"left alone: {backend.reason}"
        yield line(f"  {backend.name:<7} {known}")
    for file in outcome.changed:
        yield line(f"  changed {file}")
    if outcome.damaged:
        text = f"The import hook in {outcome.folder} is damaged and does nothing."
        yield line(f"{text} Take it out: tritonwin driver off")
    elif outcome.folder and not outcome.starts:
        yield line(f"The hook in {outcome.folder} is not started: its .pth is gone.")
    elif outcome.folder and not outcome.current:
        yield line("Another version of tritonwin wrote it. To renew it: tritonwin driver on")
    for note in outcome.notes:
        yield line(note)
    yield line(_VERDICTS[outcome.status])

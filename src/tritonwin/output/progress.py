"""What is being done, in lines; and how far a download is: a bar, elsewhere a line now and then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tritonwin.output.installation import print_choices
from tritonwin.output.plan import print_plan
from tritonwin.output.proof import print_rung
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.remedies.context import (
    ChoiceEvent,
    Event,
    PlanEvent,
    ProgressEvent,
    ProofEvent,
    StepEvent,
)

if TYPE_CHECKING:
    from rich.progress import Progress

_QUIET = 15.0  # seconds between two lines where nobody watches a bar
_MEGABYTE = 1_000_000


class Download:
    """The download that is under way, if one is."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._bar: Progress | None = None
        self._said = time.monotonic()

    def update(self, done: int, total: int | None) -> None:
        """So many bytes of so many have come; fewer than before: the next file has begun."""
        if self._out.is_terminal:
            self._draw(done, total)
        elif time.monotonic() - self._said >= _QUIET:
            self._said = time.monotonic()
            of = f" of {total // _MEGABYTE}" if total else ""
            self._out.print(Text(f"  {done // _MEGABYTE}{of} MB"), soft_wrap=True)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar:
            self._bar.stop()
        self._bar = None

    def _draw(self, done: int, total: int | None) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

            columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._out, transient=True)
            self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.tasks[0].total = total  # to `update`, None means that the total stays
        self._bar.update(self._bar.task_ids[0], completed=done)


class ProgressPrinter:
    """Tells a person what happens: each step a line, downloads between them.

    Args:
        every_reason: show every wheel that was not chosen, and why.
    """

    def __init__(self, *, every_reason: bool = False) -> None:
        self.out = console()
        self._every = every_reason
        self._download = Download(self.out)

    def close(self) -> None:
        """Leave the terminal as it was, also after a download that failed."""
        self._download.end()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ProgressEvent):
            self._download.update(event.done, event.total)
            return
        self._download.end()
        match event:
            case StepEvent(text=text):
                self.out.print(Text(f"  {printable(text)}"), soft_wrap=True)
            case ChoiceEvent():
                print_choices(event, every=self._every)
            case PlanEvent(plan=plan):
                print_plan(plan)
            case ProofEvent(rungs=rungs):
                for result in rungs:
                    print_rung(self.out, result)

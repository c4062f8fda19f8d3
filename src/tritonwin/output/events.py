"""What `fix` and `install` do, for programs that follow it: one JSON object a line."""

from __future__ import annotations

import json
import sys
import time

from tritonwin.output.documents import EventLine, FixReport, InstallReport
from tritonwin.remedies.context import Event, ProgressEvent
from tritonwin.system.codec import to_json

_EVERY = 1.0  # seconds between two events of progress


class EventWriter:
    """Writes each event as one line of JSON."""

    def __init__(self) -> None:
        self._began = self._told = time.monotonic()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ProgressEvent):
            if time.monotonic() - self._told < _EVERY:
                return
            self._told = time.monotonic()
        self._write(EventLine(seconds=self._seconds(), **vars(event)))

    def finish(self, document: FixReport | InstallReport) -> None:
        """The last line: what --json prints."""
        self._write(EventLine(event="outcome", seconds=self._seconds(), outcome=document))

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 2)

    @staticmethod
    def _write(line: EventLine) -> None:
        told = {name: to_json(value) for name, value in vars(line).items()}
        said = {name: value for name, value in told.items() if value not in (None, [])}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()

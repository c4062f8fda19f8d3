"""What `fix` and `install` do, for programs that follow it: one JSON object a line."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from typing import Any

from tritonwin.output.documents import Event, EventKind, FixReport, InstallReport
from tritonwin.remedies.plan import Plan
from tritonwin.system.codec import to_json
from tritonwin.verify.model import Proof

_EVERY = 1.0  # seconds between two events that tell how far a download is


class Events:
    """Writes what happens as JSON, one object a line, or not at all."""

    def __init__(self, *, json_lines: bool) -> None:
        self._lines = json_lines
        self._began = self._told = time.monotonic()

    def say(self, text: str) -> None:
        self._write("step", text=text)

    def progress(self, done: int, total: int | None) -> None:
        if time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            self._write("progress", done=done, total=total)

    def show_plan(self, plan: Plan) -> None:
        self._write("plan", plan=plan)

    def agree(self, question: str) -> bool:
        self._write("agreed", text=question)
        return True

    def show_proof(self, proof: Proof) -> None:
        self._write("proof", rungs=proof.results)

    def finish(self, document: FixReport | InstallReport) -> None:
        """The last line: what --json prints."""
        self._write("outcome", outcome=document)

    def _write(self, kind: EventKind, **fields: Any) -> None:
        if self._lines:
            seconds = round(time.monotonic() - self._began, 2)
            event = Event(event=kind, seconds=seconds, **fields)
            values = {f.name: to_json(getattr(event, f.name)) for f in dataclasses.fields(event)}
            told = {name: value for name, value in values.items() if value not in (None, [])}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()

"""The calls that assistants may make, by the Model Context Protocol and its official SDK.

They look, and make plans. No tool carries a plan out: a person does that on the local page, which
this opens in the browser of this machine, and whose address no answer holds. Answers are redacted.
"""

from __future__ import annotations

import asyncio
import io
import threading
from dataclasses import dataclass
from typing import Any, cast

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from tritonwin import __version__
from tritonwin.facts import snapshot
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.front.desk import BusyError, Kind, Task
from tritonwin.front.door import Door, show
from tritonwin.output.documents import DoctorReport, explain_report, outcome_report
from tritonwin.output.terminal import Screen, console
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_stream
from tritonwin.system.codec import to_json

_LOOK = 0.1  # seconds
_LONGEST_LOG = 8_000_000  # characters
_INSTRUCTIONS = (
    "Diagnoses Triton, torch.compile and attention packages in one Python of this PC. Begin with "
    "doctor, or explain for a log. plan_repair shows a plan and opens a page on the user's screen; "
    "the user alone can agree to it there. Ask the user to look, then call task."
)


@dataclass(frozen=True, kw_only=True)
class TaskReport:
    """A task as it stands; `question` is for the person at the page, not for the assistant."""

    task: int
    state: str  # working, asking, done, failed
    python: str | None
    said: str
    question: str | None = None


@dataclass(frozen=True)
class AssistantTools:
    """The tools; each returns within the limits of what it starts."""

    door: Door
    redactor: Redactor

    async def doctor(self) -> dict[str, Any]:
        """Find what keeps Triton from working in this Python; changes nothing."""
        facts = await self._facts()
        diagnosis = await asyncio.to_thread(diagnose, facts, CHECKS)
        report = outcome_report(DoctorReport, facts.target, diagnosis)
        return _tree(report)

    async def explain(self, log: str) -> dict[str, Any]:
        """Name the cause of a failure from what a program printed, whole if possible."""
        if len(log) > _LONGEST_LOG:
            raise ToolError("The log is too long; its last part is enough.")
        text = await asyncio.to_thread(self.redactor.text, log)
        stream = io.BytesIO(text.encode("utf-8", "replace"))
        explanation = await asyncio.to_thread(explain_stream, stream)
        return _tree(explain_report(explanation, None, None))

    async def plan_repair(self) -> TaskReport:
        """Show the plan of a repair. It is carried out when the user agrees on the page."""
        task = self._start("fix")
        done = await self._until(task, {"asking", "done", "failed"})
        if (
            done.state == "asking"
            and self.door.server.unseen()
            and not show(self.door.server.issue())
        ):
            self.door.desk.answer(done.key, agreed=False)
            await self._until(task, {"done", "failed"})
            raise ToolError("No browser can be opened here. The user can run: tritonwin fix")
        return self._report(done)

    async def verify(self) -> TaskReport:
        """Prove that Triton works, rung by rung; takes minutes and changes nothing."""
        return self._report(await self._until(self._start("verify"), {"done", "failed"}))

    async def task(self, number: int) -> TaskReport:
        """The state of a task that was started before."""
        found = self.door.desk.tasks.get(number)
        if found is None:
            raise ToolError("There is no such task.")
        return self._report(found)

    async def snapshot(self) -> dict[str, Any]:
        """The facts of this PC for a bug report, without names and secrets."""
        return _tree(snapshot.Snapshot(facts=await self._facts()))

    async def _facts(self) -> Facts:
        """Redacted facts of now."""
        done = await self._until(self._start("examine"), {"done", "failed"})
        facts = self.door.desk.facts
        if done.state == "failed" or facts is None:
            raise ToolError(self._report(done).said)
        return await asyncio.to_thread(snapshot.redacted, facts, self.redactor)

    def _start(self, kind: Kind) -> int:
        try:
            return self.door.desk.start(kind).number
        except BusyError:
            raise ToolError("Another task is at work or waits for the user; see task.") from None

    async def _until(self, number: int, states: set[str]) -> Task:
        while (task := self.door.desk.tasks[number]).state not in states:
            await asyncio.sleep(_LOOK)
        return task

    def _report(self, task: Task) -> TaskReport:
        text = io.StringIO()
        Screen(console(text)).show(*task.said)
        python = self.door.desk.target
        return TaskReport(
            task=task.number,
            state=task.state,
            python=self.redactor.text(python) if python else None,
            said=self.redactor.text(text.getvalue()),
            question=task.question or None,
        )


def _tree(record: object) -> dict[str, Any]:
    return cast("dict[str, Any]", to_json(record))


def made(door: Door) -> MCPServer:
    """The server with its tools."""
    tools = AssistantTools(door, Redactor.this_machine())
    server = MCPServer("tritonwin", version=__version__, instructions=_INSTRUCTIONS)
    for tool in (tools.doctor, tools.explain, tools.plan_repair, tools.verify, tools.task,
                 tools.snapshot):  # fmt: skip
        server.add_tool(tool)
    return server


def serve(door: Door) -> None:
    """Answer on standard input and output until they end; the tasks run in this thread."""

    def answer() -> None:
        try:
            made(door).run("stdio")
        finally:
            door.ended.set()

    threading.Thread(target=answer, daemon=True).start()
    door.desk.run()

"""The desk: the tasks of the page, one after another, each the call that a command makes.

They run in the main thread, and the server's threads only read what they have come to. So Ctrl-C, a
signal and a closed console end a change as they end `tritonwin fix`, and two pages show one state.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tritonwin.errors import UserError
from tritonwin.facts.history import write_proven
from tritonwin.facts.records import Facts
from tritonwin.journal import Store
from tritonwin.output.blocks import Block, Prose, line
from tritonwin.output.changes import of_event, of_fix, of_installation
from tritonwin.output.outcomes import of_undo
from tritonwin.output.proof import of_rung, proof_verdict
from tritonwin.output.text import size
from tritonwin.output.view import View, of_diagnosis
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.remedies.fix import FixOptions, fix
from tritonwin.remedies.install import InstallOptions, install
from tritonwin.remedies.records import Event, ProgressEvent
from tritonwin.remedies.undo import undo_change
from tritonwin.remedies.variables import stored_variables
from tritonwin.support.install_plan import parse_requests
from tritonwin.system.host import Host
from tritonwin.verify import ladder
from tritonwin.verify.records import Proof
from tritonwin.verify.setting import setting_for

_PAUSE = 0.05  # seconds; on Windows no Ctrl-C comes while a lock is waited for
_MOST_TASKS = 50  # that can be looked at again


Kind = Literal["examine", "fix", "verify", "install", "undo"]


class BusyError(Exception):
    """Another task is at work or waits for an answer."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task as it stands.

    Attributes:
        said: what has happened; it only grows.
        now: what takes its time at this moment.
        question: about what is shown then; empty: nothing is asked.
        key: answers the question, once.
        undoable: it changed something.
    """

    number: int
    kind: Kind
    state: Literal["working", "asking", "done", "failed"] = "working"
    said: tuple[Block, ...] = ()
    now: str = ""
    question: str = ""
    key: str = ""
    undoable: bool = False

    @property
    def open(self) -> bool:
        return self.state in {"working", "asking"}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The Python that the page is about, and the wishes of the command line.

    Attributes:
        collect: the machine as it is now, and the facts of the Python.
    """

    collect: Callable[[], tuple[Host, Facts]]
    fix: FixOptions
    install: InstallOptions


class Desk:
    """The tasks. Attributes are replaced as a whole, and read by any thread.

    Args:
        present: False when nobody looks any more; a question then counts as answered with no.
    """

    def __init__(self, setting: Setting, present: Callable[[], bool]) -> None:
        self.store = Store.default()
        self.facts: Facts | None = None
        self.view: View | None = None
        self.target: str | None = None
        self.tasks: dict[int, Task] = {}
        self._setting, self._present = setting, present
        self._stored = stored_variables(Host.this_machine().registry)
        self._waiting: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self._at = 0  # the task that is at work
        self._lock = threading.Lock()
        self._answers: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.changes = 0  # another number whenever a page has to be shown in its new state
        self._works: dict[Kind, Callable[[str], Iterable[Block]]] = {
            "examine": self._examine,
            "fix": self._fix,
            "verify": self._verify,
            "install": self._install,
            "undo": self._undo,
        }

    # --- for the threads of the server

    @property
    def last(self) -> Task | None:
        return next(reversed(self.tasks.values()), None)

    def start(self, kind: Kind, given: str = "") -> Task:
        """Start a task.

        Args:
            given: the packages to install, or the journal to undo.

        Raises:
            BusyError: there is one at a time. An examination is waited for.
        """
        with self._lock:
            if self.last and self.last.open and self.last.kind != "examine":
                raise BusyError
            task = Task(number=self.last.number + 1 if self.last else 1, kind=kind)
            self.tasks = dict([*self.tasks.items(), (task.number, task)][-_MOST_TASKS:])
            self._waiting.put((task.number, given))
            return task

    def answer(self, key: str, *, agreed: bool) -> bool:
        """Answer the question of that key; False where it is not open (any more)."""
        given = key.encode("utf-8", "replace")
        with self._lock:
            task = self.tasks.get(self._at)
            if not (task and task.question and secrets.compare_digest(task.key.encode(), given)):
                return False
            self._answers.put(agreed)
            self._set(state="working", question="")
            return True

    # --- in the main thread

    def run(self) -> None:
        """Do the tasks until nobody looks any more."""
        while self._present():
            with contextlib.suppress(queue.Empty):
                self._do(*self._waiting.get(timeout=_PAUSE))

    def _do(self, number: int, given: str) -> None:
        self._at = number
        kind = self.tasks[number].kind
        state = "failed"
        try:
            for block in self._works[kind](given):
                self._say(block)
            state = "done"
        except UserError as error:
            help_ = (line(f"help: {error.help}"),) if error.help else ()
            self._say(line(str(error), "bad"), *help_)
        except Exception as error:  # noqa: BLE001 - the page stays, and says so
            self._say(line(f"tritonwin itself failed: {type(error).__name__}: {error}", "crashed"))
        if kind in {"fix", "install", "undo"}:
            self._changed()
        self._note(state=state, now="", question="")

    def _agree(self, text: str) -> bool:
        """Ask on the page, and wait for the answer."""
        self._answers = queue.SimpleQueue()  # what answered an earlier one counts no more
        self._note(state="asking", question=text, key=secrets.token_hex(16), now="")
        while self._present():
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=_PAUSE)
        self._note(question="")
        return False

    def _tell(self, event: Event) -> None:
        if isinstance(event, ProgressEvent):
            of = f" of {size(event.total)}" if event.total else ""
            self._note(now=f"{size(event.done)}{of}")
        else:
            self._note(now="")
            self._say(*of_event(event))

    def _say(self, *blocks: Block) -> None:
        self._note(said=(*self.tasks[self._at].said, *blocks))

    def _note(self, **fields: object) -> None:
        with self._lock:
            self._set(**fields)

    def _set(self, **fields: object) -> None:
        task = replace(self.tasks[self._at], **fields)  # type: ignore[arg-type]
        self.tasks = {**self.tasks, self._at: task}
        self.changes += 1

    # --- the tasks

    def _examine(self, _: str) -> Iterable[Block]:
        """doctor."""
        self.facts = self._collect()[1]
        self.view = of_diagnosis(self.facts, diagnose(self.facts, CHECKS))
        return (line(self.view.headline, self.view.tone),)

    def _fix(self, _: str) -> Iterable[Block]:
        host, facts = self._collect()
        options = self._setting.fix
        result = fix(options, facts, self.store, agree=self._agree, on_event=self._tell, host=host)
        self._note(undoable=bool(result.journals) and result.status != "undone")
        return of_fix(facts, result)

    def _install(self, packages: str) -> Iterable[Block]:
        facts = self._collect()[1]
        options = replace(self._setting.install, requests=parse_requests(packages.split()))
        done = install(options, facts, self.store, agree=self._agree, on_event=self._tell)
        self._note(undoable=done.journal is not None)
        return of_installation(done)

    def _undo(self, identifier: str) -> Iterable[Block]:
        """Undo one change, or without an id all rounds of the last one of this Python."""
        if not (identifier or self.target):
            self._collect()
        result = undo_change(
            self.store,
            self._agree,
            identifier or None,
            target=None if identifier else self.target,
            on_preview=lambda shown: self._say(*of_undo(shown)),
        )
        return (line("Nothing was changed."),) if result.declined else of_undo(result)

    def _verify(self, _: str) -> Iterable[Block]:
        host, facts = self._collect()
        results = []
        for result in ladder.climb(setting_for(facts, host.env.data), ladder.RUNGS):
            results.append(result)
            yield from of_rung(result)
            if not self._present():
                return
        proof = Proof(results=tuple(results))
        if proof.verdict == "proven":
            write_proven(facts, host.env)
        yield Prose(proof_verdict(proof, rungs=len(ladder.RUNGS)), tone="strong", indent=0)

    def _collect(self) -> tuple[Host, Facts]:
        host, facts = self._setting.collect()
        self.target = facts.target.executable if facts.target else None
        return host, facts

    def _changed(self) -> None:
        """Forget what was found, and take over the stored variables that differ since the start.

        Programs that are started from here, and doctor, see them as after a new start.
        """
        self.facts = self.view = None
        now = stored_variables(Host.this_machine().registry)
        for name in {name for name, _ in self._stored.items() ^ now.items()}:
            os.environ.pop(name, None)
            if name in now:
                os.environ[name] = os.path.expandvars(now[name])
        self._stored = now

"""fix: facts, problems, plan, consent, apply, proof; again until proven, or until nothing helps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from tritonwin.facts import snapshot
from tritonwin.facts.collect import collect
from tritonwin.facts.model import Facts
from tritonwin.facts.proven import write_proven
from tritonwin.facts.redaction.identity import Identity
from tritonwin.facts.snapshot import SnapshotError
from tritonwin.journal import Store, undo
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Problem
from tritonwin.remedies.apply import apply_plan
from tritonwin.remedies.plan import CannotRemedyError, Plan, Status, target_to_change
from tritonwin.remedies.planner import make_plan
from tritonwin.remedies.remedy import Listener, Means
from tritonwin.remedies.target_pip import find_pip
from tritonwin.remedies.variables import environment_after
from tritonwin.support.install_plan import sources_for
from tritonwin.support.pip import Pip
from tritonwin.support.sources import Sources
from tritonwin.system.data_folder import data_folder
from tritonwin.system.host import Host
from tritonwin.system.waiting import waiting_threads
from tritonwin.verify import ladder
from tritonwin.verify.model import Proof, RungResult

_DRIFTED = "environment-drifted"
AHEAD_LIMIT = 60.0  # seconds; what hangs is not waited for twice as long as a rung may take
MAX_ROUNDS = 4  # one problem may hide another; four layers have not been seen


@dataclass(frozen=True, kw_only=True)
class FixOptions:
    """What the user asked for.

    Attributes:
        only: ids of the problems to solve; empty: all errors and warnings.
        lists: folders, files and addresses of wheels that the user named.
        indexes: package indexes in the place of those that pip knows.
        machine_wide: changes for all users are welcome.
    """

    python: str | None = None
    app: Path | None = None
    only: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    offline: bool = False
    headers: Path | None = None
    machine_wide: bool = False
    dry_run: bool = False
    timeout: float = 30


class Watcher(Listener, Protocol):
    """Who is told what happens, and asked."""

    def show_plan(self, plan: Plan) -> None: ...

    def agree(self, question: str) -> bool: ...

    def show_proof(self, proof: Proof) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a fix ended.

    Attributes:
        journals: what can be undone, in the order in which it was done.
        snapshot: a file with redacted facts for a bug report, where not all could be solved.
    """

    status: Status
    facts: Facts
    plans: tuple[Plan, ...] = ()
    journals: tuple[str, ...] = ()
    before: Proof | None = None
    proof: Proof | None = None
    remaining: tuple[Problem, ...] = ()
    snapshot: str | None = None


def fix(options: FixOptions, store: Store, watcher: Watcher, host: Host | None = None) -> Outcome:
    """Bring the target into working order, as far as it can be done here.

    Raises:
        UserError: a target that cannot be examined or is being worked on, or a change that the
            system refuses (the target is then as it was before that plan).
    """
    host = host or Host.this_machine(options.app)
    facts = collect(python=options.python, app=options.app, timeout=options.timeout, host=host)
    session = _Session(options, store, watcher, host, facts)
    if options.dry_run:
        return session.dry_run()
    with store.lock(target_to_change(facts).executable, wait=5):
        session.clear_unfinished()
        return session.rounds()


@dataclass
class _Session:
    options: FixOptions
    store: Store
    watcher: Watcher
    host: Host
    facts: Facts
    plans: list[Plan] = field(default_factory=list)
    journals: list[str] = field(default_factory=list)
    before: Proof | None = None
    proof: Proof | None = None
    _pip: Pip | None = None
    _sources: Sources | None = None

    def dry_run(self) -> Outcome:
        problems = self._problems()
        if not problems:
            return self._outcome("healthy", problems)
        self._plan(problems)
        self.watcher.show_plan(self.plans[-1])
        return self._outcome("planned", problems)

    def clear_unfinished(self) -> None:
        """Undo what a crash left half done: a plan made of its facts would be wrong."""
        for header in self.store.unfinished(target_to_change(self.facts).executable):
            self.watcher.say(f"an earlier change was cut off: {header.title}")
            if not self.watcher.agree("Undo it first?"):
                raise CannotRemedyError(
                    f"{header.target} is in the middle of a change: {header.title}",
                    f"tritonwin undo {header.id}",
                )
            undo(self.store, header.id)
            self._examine()

    def rounds(self) -> Outcome:
        problems = self._problems()
        if not problems:
            return self._outcome("healthy" if not self._drifted() else self._proven_anew(), ())
        with waiting_threads(most=1) as threads:
            # what works now, to see whether it still does afterwards; takes as long as planning
            baseline = threads.submit(self._prove) if self.facts.triton is not None else None
            self._plan(problems)
            self.before = threads.result(baseline) if baseline else None
        for _ in range(MAX_ROUNDS):
            plan = self.plans[-1]
            self.watcher.show_plan(plan)
            if not plan.changes:
                break
            if not self.watcher.agree("Make these changes?"):
                return self._outcome("declined", problems)
            self._apply(plan)
            problems = self._problems()
            if self._worse() and self.watcher.agree("It got worse. Undo everything?"):
                return self._give_back()
            if not problems:
                break
            self._plan(problems)
            if self.plans[-1].changes == plan.changes:
                self.plans.pop()
                break
        return self._outcome(self._verdict(problems), problems)

    def _plan(self, problems: tuple[Problem, ...]) -> None:
        means = Means(
            facts=self.facts,
            host=self.host,
            pip=self.pip,
            sources=self.sources,
            offline=self.options.offline,
            headers=self.options.headers,
            machine_wide=self.options.machine_wide,
        )
        self.plans.append(make_plan(problems, means))

    def _apply(self, plan: Plan) -> None:
        target = target_to_change(self.facts)
        first = next(iter(self.journals), None)
        journal = apply_plan(plan, target, self.store, self.pip, self.watcher, session=first)
        self.journals.append(journal)
        self.host = replace(self.host, env=environment_after(plan, self.host.env))
        self._pip = None
        self.proof = self._examine_and_prove()
        self.watcher.show_proof(self.proof)

    def pip(self) -> Pip:
        """The pip that runs in the target, found once."""
        if self._pip is None:
            self._pip = find_pip(self.facts, self.options.lists)
        return self._pip

    def sources(self) -> Sources:
        """Where wheels are looked for, found once."""
        if self._sources is None:
            options = self.options
            self._sources = sources_for(
                self.facts,
                self.pip,
                lists=options.lists,
                indexes=options.indexes,
                offline=options.offline,
            )
        return self._sources

    def _examine(self) -> None:
        executable = target_to_change(self.facts).executable
        self.facts = collect(python=executable, timeout=self.options.timeout, host=self.host)

    def _prove(self, known: tuple[RungResult, ...] = ()) -> Proof:
        setting = ladder.setting(self.facts, self.host.env.data)
        return ladder.prove(replace(setting, known=known))

    def _examine_and_prove(self) -> Proof:
        """Triton is imported while the facts are read, which takes as long.

        Where that fails it is tried again, for the new facts name the cause.
        """
        setting = ladder.setting(self.facts, self.host.env.data, timeout=AHEAD_LIMIT)
        with waiting_threads(most=1) as threads:
            ahead = threads.submit(ladder.prove, setting, ladder.AHEAD)
            self._examine()
            results = threads.result(ahead).results
        return self._prove(tuple(r for r in results if r.state == "passed"))

    def _problems(self) -> tuple[Problem, ...]:
        """What is to be solved. That something changed is answered by the proof itself."""
        found = [p for p in diagnose(self.facts, CHECKS).problems if p.id != _DRIFTED]
        if self.options.only:
            return tuple(p for p in found if p.id in self.options.only)
        return tuple(p for p in found if p.severity != "info")

    def _drifted(self) -> bool:
        return any(p.id == _DRIFTED for p in diagnose(self.facts, CHECKS).problems)

    def _proven_anew(self) -> Status:
        self.proof = self._prove()
        self.watcher.show_proof(self.proof)
        return "proven" if self.proof.holds else "stuck"

    def _worse(self) -> bool:
        return bool(self.before and self.proof and self.proof.worse_than(self.before))

    def _give_back(self) -> Outcome:
        for journal in reversed(self.journals):
            undo(self.store, journal)
        self._examine()
        return self._outcome("undone", self._problems())

    def _verdict(self, problems: tuple[Problem, ...]) -> Status:
        proof = self.proof or self.before
        errors = any(p.severity == "error" for p in problems)
        return "proven" if proof is not None and proof.holds and not errors else "stuck"

    def _outcome(self, status: Status, problems: tuple[Problem, ...]) -> Outcome:
        if status == "proven":
            write_proven(self.facts, self.host.env)
        return Outcome(
            snapshot=self._snapshot() if status in {"stuck", "undone"} else None,
            status=status,
            facts=self.facts,
            plans=tuple(self.plans),
            journals=tuple(self.journals),
            before=self.before,
            proof=self.proof,
            remaining=problems if status != "healthy" else (),
        )

    def _snapshot(self) -> str | None:
        """Redacted facts for a bug report; None where they cannot be kept."""
        file = data_folder(self.host.env) / "report.json"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            snapshot.write(self.facts, file, Identity.this_machine(self.host))
        except (OSError, SnapshotError):
            return None
        return str(file)

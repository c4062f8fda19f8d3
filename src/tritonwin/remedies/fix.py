"""fix: facts, problems, plan, consent, apply, proof; again until proven, or until nothing helps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tritonwin.errors import UserError
from tritonwin.facts import snapshot
from tritonwin.facts.collect import collect
from tritonwin.facts.history import write_proven
from tritonwin.facts.packages import knowledge
from tritonwin.facts.records import Facts, Interpreter
from tritonwin.facts.redaction.identity import Identity
from tritonwin.journal import Store, undo
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Problem
from tritonwin.remedies.apply import apply_plan, clear_unfinished
from tritonwin.remedies.context import Agree, OnEvent, PlanContext, ignore
from tritonwin.remedies.plan import CannotRemedyError, Plan, Status, target_to_change
from tritonwin.remedies.planner import make_plan
from tritonwin.remedies.records import (
    FixResult,
    PlanEvent,
    ProofEvent,
    StepEvent,
)
from tritonwin.remedies.target_pip import find_pip
from tritonwin.remedies.variables import environment_after
from tritonwin.support.install_plan import sources_for
from tritonwin.system.host import Host, data_folder
from tritonwin.system.shells import word
from tritonwin.system.waiting import waiting_threads
from tritonwin.verify import ladder
from tritonwin.verify.records import Proof, RungResult
from tritonwin.verify.setting import setting_for

_DRIFTED = "environment-drifted"
AHEAD_LIMIT = 60.0  # seconds; what hangs is not waited for twice as long as a rung may take
MAX_ROUNDS = 4  # one problem may hide another; four layers have not been seen


@dataclass(frozen=True, kw_only=True)
class FixOptions:
    """The user's wishes.

    Attributes:
        named: the user named the Python or the application.
        only: ids of the problems to solve; empty: all errors and warnings.
        lists: folders, files and addresses of wheels that the user named.
        indexes: package indexes in the place of those that pip knows.
        machine_wide: changes for all users are welcome.
    """

    named: bool = True
    only: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    offline: bool = False
    headers: Path | None = None
    machine_wide: bool = False
    dry_run: bool = False
    timeout: float = 30


def fix(
    options: FixOptions,
    facts: Facts,
    store: Store,
    *,
    agree: Agree,
    on_event: OnEvent = ignore,
    host: Host | None = None,
) -> FixResult:
    """Repair the target, as far as it can be done here.

    Raises:
        UserError: a target that is not sure to be meant, that cannot be examined or is being worked
            on, or a change that the system refuses (the target is then as it was before that plan).
    """
    target = target_to_change(facts)
    if not options.named:
        _be_meant(target, facts)
        on_event(StepEvent(text=f"repairing {target.executable}: {target.source}"))
    context = planning(options, facts, host or Host.this_machine())
    run = _Fix(options, store, agree, on_event, context)
    run.diagnose(facts)
    if options.dry_run:
        return run.dry_run()
    with store.lock(target.executable, wait=5):
        if clear_unfinished(target, store, agree, on_event):
            run.examine()
        return run.rounds()


def planning(options: FixOptions, facts: Facts, host: Host) -> PlanContext:
    """The means of planning; pip and the places of wheels are asked for once."""
    pip = cache(lambda: find_pip(facts, options.lists))
    return PlanContext(
        facts=facts,
        host=host,
        pip=pip,
        sources=cache(
            lambda: sources_for(
                facts,
                pip,
                lists=options.lists,
                indexes=options.indexes,
                public=not options.offline,
                offline=options.offline,
            )
        ),
        offline=options.offline,
        headers=options.headers,
        machine_wide=options.machine_wide,
    )


def _be_meant(target: Interpreter, facts: Facts) -> None:
    """Refuse to repair a Python that has nothing to repair and that nobody named."""
    wanted = {"torch", *knowledge().triton}
    if facts.torch or facts.triton or any(d.name in wanted for d in facts.distributions):
        return
    others = [i.executable for i in facts.interpreters if wanted & i.packages.keys()]
    named = word((*others, target.executable)[0]) or "PATH\\TO\\python.exe"
    raise CannotRemedyError(
        f"{target.executable} ({target.source}) has neither torch nor Triton",
        f"Name the Python to repair: tritonwin fix --python {named} (or the folder of the "
        "application: --app FOLDER)",
    )


@dataclass
class _Fix:
    """One run. `result` grows with it; context and problems are those of the last examination."""

    options: FixOptions
    store: Store
    agree: Agree
    on_event: OnEvent
    context: PlanContext
    result: FixResult = field(default_factory=lambda: FixResult(status="healthy"))
    problems: tuple[Problem, ...] = ()
    drifted: bool = False

    @property
    def target(self) -> Interpreter:
        return self.context.target

    def dry_run(self) -> FixResult:
        if not self.problems and not self.result.crashed:
            return self._end("healthy")
        self._plan()
        self.on_event(PlanEvent(plan=self.plan))
        return self._end("planned")

    def rounds(self) -> FixResult:
        if not self.problems and not self.result.crashed:
            if not self.drifted:
                return self._end("healthy")
            proof = self._prove()
            self._add(proof=proof.results)
            self.on_event(ProofEvent(rungs=proof.results))
            return self._end("proven" if proof.holds else "stuck")
        with waiting_threads(most=1) as threads:
            # what works now, to see whether it still does afterwards; takes as long as planning
            baseline = (
                threads.submit(self._prove) if self.context.facts.triton is not None else None
            )
            self._plan()
            self._add(before=threads.result(baseline).results if baseline else ())
        for _ in range(MAX_ROUNDS):
            plan = self.plan
            self.on_event(PlanEvent(plan=plan))
            if not plan.changes:
                break
            if not self.agree("Make these changes?"):
                return self._end("declined")
            self._apply(plan)
            before, after = Proof(results=self.result.before), Proof(results=self.result.proof)
            if after.worse_than(before) and self.agree("It got worse. Undo everything?"):
                for journal in reversed(self.result.journals):
                    undo(self.store, journal)
                self.examine()
                return self._end("undone")
            if not self.problems:
                break
            self._plan()
            if self.plan.changes == plan.changes:
                self._add(plans=self.result.plans[:-1])
                break
        proof = Proof(results=self.result.proof or self.result.before)
        unknown = self.result.crashed or any(p.severity == "error" for p in self.problems)
        return self._end("proven" if proof.holds and not unknown else "stuck")

    @property
    def plan(self) -> Plan:
        """The plan of this round."""
        return self.result.plans[-1]

    def diagnose(self, facts: Facts) -> None:
        """Diagnose these facts. That something changed is answered by the proof itself."""
        diagnosis = diagnose(facts, CHECKS)
        only = self.options.only
        if facts is not self.context.facts:
            pip = cache(lambda: find_pip(facts, self.options.lists))
            self.context = replace(self.context, facts=facts, pip=pip)
        self.drifted = any(p.id == _DRIFTED for p in diagnosis.problems)
        wanted = (p for p in diagnosis.problems if (p.id in only if only else p.severity != "info"))
        self.problems = tuple(p for p in wanted if p.id != _DRIFTED)
        self._add(crashed=tuple(c for c in diagnosis.crashed if not only or c.id in only))

    def examine(self) -> None:
        executable = self.target.executable
        self.diagnose(
            collect(python=executable, timeout=self.options.timeout, host=self.context.host)
        )

    def _plan(self) -> None:
        self._add(plans=(*self.result.plans, make_plan(self.problems, self.context)))

    def _apply(self, plan: Plan) -> None:
        journal = apply_plan(
            plan,
            self.target,
            self.store,
            self.context.pip,
            self.on_event,
            builds=self.context.builds,
            session=next(iter(self.result.journals), None),
        )
        self._add(journals=(*self.result.journals, journal))
        host = self.context.host
        host = replace(host, env=environment_after(plan, host.env))
        self.context = replace(self.context, host=host)
        self._add(proof=self._examine_and_prove().results)
        self.on_event(ProofEvent(rungs=self.result.proof))

    def _prove(self, known: tuple[RungResult, ...] = ()) -> Proof:
        setting = setting_for(self.context.facts, self.context.host.env.data)
        return ladder.prove(replace(setting, known=known), ladder.basic(setting))

    def _examine_and_prove(self) -> Proof:
        """Triton is imported while the facts are read, which takes as long.

        Where that fails it is tried again, for the new facts name the cause.
        """
        setting = setting_for(self.context.facts, self.context.host.env.data, timeout=AHEAD_LIMIT)
        with waiting_threads(most=1) as threads:
            ahead = threads.submit(ladder.prove, setting, ladder.AHEAD)
            self.examine()
            results = threads.result(ahead).results
        return self._prove(tuple(r for r in results if r.state == "passed"))

    def _add(self, **fields: Any) -> None:
        self.result = replace(self.result, **fields)

    def _end(self, status: Status) -> FixResult:
        if status == "proven":
            write_proven(self.context.facts, self.context.host.env)
        self._add(
            status=status,
            problems=self.problems if status != "healthy" else (),
            snapshot=self._snapshot() if status in {"stuck", "undone"} else None,
        )
        return self.result

    def _snapshot(self) -> str | None:
        """Redacted facts for a bug report; None where they cannot be kept."""
        file = data_folder(self.context.host.env) / "report.json"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            snapshot.write(self.context.facts, file, Identity.this_machine(self.context.host))
        except (OSError, UserError):
            return None
        return str(file)

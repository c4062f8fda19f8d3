"""Carry a plan out: everything in its place, then the command, until there is a wheel.

What is finished stays finished: a run that lacked memory goes on with fewer jobs, and one that was
interrupted goes on where it stopped, since the build folder, the build environment and ninja's log
are kept as they are.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from tritonwin.build import failure, ninja, source, toolkit, venv
from tritonwin.build.attempt import Attempt
from tritonwin.build.checkout import is_project
from tritonwin.build.depot import Depot
from tritonwin.build.model import BuildPlan
from tritonwin.build.ninja import Counter
from tritonwin.build.outcome import Progress
from tritonwin.build.state import Run, State, read_state, write_plan, write_state
from tritonwin.build.venv import Linked
from tritonwin.errors import UserError
from tritonwin.facts.records import Facts
from tritonwin.journal.lock import locked
from tritonwin.problems.records import Evidence, Explanation
from tritonwin.system.files import paths_in
from tritonwin.system.host import Host

Tell: TypeAlias = Callable[["str | Progress"], None]

# 2020-01-01: what a wheel holds depends on its sources, not on the hour at which it was made
_EPOCH = "1577836800"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a build is carried out with.

    Attributes:
        environment: all variables of the command, as the captured compiler and the plan have them.
        depot: where files come from; its pip is that of the target.
        logins: variables for git alone, with the login that the source's address held.
        pip_options: "--no-index", "--find-links", DIR.
        facts: of the machine, for the explanation of a failure.
        tell: given a line at every step, and the progress of the compilers.
    """

    environment: Mapping[str, str]
    depot: Depot
    host: Host
    logins: Mapping[str, str] = field(default_factory=dict, repr=False)
    pip_options: tuple[str, ...] = ()
    facts: Facts | None = None
    tell: Tell = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Built:
    """How a build ended.

    Attributes:
        wheel: as the build made it; None: it failed, and `explanation` says why.
        failed_step: what the first step that failed printed.
    """

    wheel: Path | None
    state: State
    python: Linked
    explanation: Explanation | None = None
    failed_step: tuple[Evidence, ...] = ()


def build(plan: BuildPlan, setting: Setting, *, resume: bool = False) -> Built:
    """Build the wheel. Interrupted, it leaves what a later call with `resume` goes on with.

    Raises:
        UserError: the plan cannot be carried out here, or an unfinished build is in its folder.
    """
    layout = plan.layout
    try:
        layout.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"the build folder {layout.root} cannot be made: {error.strerror or error}",
            "Name another one: --root DIR",
        ) from None
    with locked(layout.root / "lock", str(layout.root), wait=0):
        if not resume:
            _begin_anew(plan)
        python = _prepare(plan, setting)
        state = _compile(plan, setting, python)
        last = state.runs[-1]
        if last.ending == "finished":
            return Built(wheel=_wheel(plan), state=state, python=python)
        return Built(
            wheel=None,
            state=state,
            python=python,
            explanation=failure.explanation(layout.log, last.offset, setting.facts),
            failed_step=failure.failed_step(layout.log, last.offset),
        )


def _begin_anew(plan: BuildPlan) -> None:
    """Make room for a build, unless hours of work lie there."""
    layout = plan.layout
    runs = read_state(layout.root).runs
    if runs and runs[-1].ending != "finished":
        done = len(ninja.finished(layout.source))
        if done:
            raise UserError(
                f"{layout.root} holds an unfinished build, {done} steps of which are done",
                "Go on with it: --resume. To begin anew, remove that folder.",
            )
    for folder in (layout.source, layout.venv, layout.dist, layout.temp):
        shutil.rmtree(folder, ignore_errors=True)
    layout.log.unlink(missing_ok=True)
    write_state(layout.root, State())


def _prepare(plan: BuildPlan, setting: Setting) -> Linked:
    layout, tell = plan.layout, setting.tell
    write_plan(plan)
    tell("source")
    source.prepare(plan, setting.depot, setting.host, setting.logins)
    if not is_project(layout.source / plan.source.subfolder):
        raise UserError(
            f"{plan.source.location} holds neither setup.py nor pyproject.toml",
            "Name the project itself: --source DIR, or another commit: --ref REF",
        )
    if plan.cuda and plan.cuda.origin == "assembled":
        tell(f"CUDA {plan.cuda.version}")
        toolkit.assemble(plan.cuda.parts, Path(plan.cuda.path), setting.depot, tell)
    if plan.cuda and plan.cuda.origin == "packages" and not plan.windows:
        toolkit.name_libraries(Path(plan.cuda.path, "lib"), layout.cuda)
    tell("build environment")
    python = venv.make(plan.target, layout.venv)
    wanted = venv.missing(plan.requirements, venv.installed(python.python))
    if wanted:
        tell(f"installing {', '.join(wanted)}")
        venv.install(python, setting.depot.pip, wanted, setting.pip_options)
    for folder in (layout.temp, layout.dist):
        folder.mkdir(exist_ok=True)
    before = ninja.start_first(plan.start_first, layout.root / "n", python.scripts, setting.host)
    return replace(python, scripts=(*before, *python.scripts))


def _compile(plan: BuildPlan, setting: Setting, python: Linked) -> State:
    """Run the command until it succeeds or fails for something that fewer jobs do not cure."""
    layout = plan.layout
    state = read_state(layout.root)
    while True:
        jobs = state.jobs(plan.jobs)
        run, code = _attempt(plan.with_jobs(jobs), setting, python, state)
        if run.ending == "failed" and failure.is_out_of_memory(layout.log, run.offset, code):
            run = replace(run, ending="out-of-memory")
        state = State(runs=(*state.runs, run))
        write_state(layout.root, state)
        # a single job that got further than the last one may succeed where others left it room
        if run.ending != "out-of-memory" or (jobs == 1 and not run.steps):
            return state
        setting.tell(f"out of memory with {jobs} jobs: going on with {state.jobs(plan.jobs)}")


def _attempt(plan: BuildPlan, setting: Setting, python: Linked, state: State) -> tuple[Run, int]:
    layout = plan.layout
    _tidy(plan, setting.tell)
    _head(layout.log, len(state.runs) + 1, plan)
    known = plan.compile_steps or next((r.total for r in reversed(state.runs) if r.total), None)
    counter = Counter(before=len(ninja.finished(layout.source)), planned=known)
    attempt = Attempt(
        Run(jobs=plan.jobs, offset=layout.log.stat().st_size),
        counter,
        setting.tell,
        lambda run: write_state(layout.root, State(runs=(*state.runs, run))),
    )
    setting.tell(f"compiling with {plan.jobs} jobs; log: {layout.log}")
    code = attempt.carry_out(
        (str(python.python), *plan.command),
        env=_variables(plan, setting, python),
        cwd=layout.source / plan.source.subfolder,
        log=layout.log,
    )
    return attempt.run, code


def _tidy(plan: BuildPlan, tell: Tell) -> None:
    """Take away what an interrupted run may have left and a new one would trust."""
    for wheel in paths_in(plan.layout.dist, "*.whl"):
        wheel.unlink()
    for path in ninja.remove_damaged(ninja.finished(plan.layout.source)):
        tell(f"{path.name} is cut short: compiled anew")


def _head(log: Path, number: int, plan: BuildPlan) -> None:
    """Say in the log where a run begins."""
    now = time.strftime("%Y-%m-%d %H:%M:%S %z")
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"\n== tritonwin: run {number}, {plan.jobs} jobs, {now}\n")


def _variables(plan: BuildPlan, setting: Setting, python: Linked) -> dict[str, str]:
    """The variables of the command: the captured ones, the plan's, and where things lie."""
    unset = _joined(dict.fromkeys(plan.unset, ""))
    captured = {k: v for k, v in _joined(setting.environment).items() if k not in unset}
    temp = str(plan.layout.temp)
    own = {
        "TEMP": temp,
        "TMP": temp,
        "TMPDIR": temp,
        "NINJA_STATUS": ninja.STATUS,
        "PYTHONUNBUFFERED": "1",
    }
    epoch = {"SOURCE_DATE_EPOCH": _EPOCH}
    return venv.environment(python, _joined(epoch, captured, plan.environment, own))


def _joined(*parts: Mapping[str, str]) -> dict[str, str]:
    """The later variable wins; on Windows `Temp` and `TEMP` are the same one."""
    same = str.upper if os.name == "nt" else str
    return {same(name): value for part in parts for name, value in part.items()}


def _wheel(plan: BuildPlan) -> Path:
    wheels = paths_in(plan.layout.dist, "*.whl")
    if len(wheels) != 1:
        raise UserError(
            f"the build ended well, but {plan.layout.dist} holds {len(wheels)} wheels, not one",
            f"Look at its log: {plan.layout.log}",
        )
    return wheels[0]

"""Carry a plan out: everything in its place, then the command, until a wheel is there and proven.

Finished work is kept: a run that lacked memory goes on with fewer jobs, and an interrupted one goes
on where it stopped, since the build folder, the build environment and ninja's log stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tritonwin.build import attempt, source, venv, wheel
from tritonwin.build.command import command, inherited
from tritonwin.build.outcome import BuildOutcome, BuildRun, BuildState
from tritonwin.build.plan import BuildPlan
from tritonwin.build.source import BuildContext, is_project
from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.journal.disk import discard, is_real_folder
from tritonwin.journal.store import locked
from tritonwin.problems.explain import explain_stream
from tritonwin.system.codec import from_json, parse, to_json
from tritonwin.system.files import is_file, paths_in, read_text, replace_whole


def make(plan: BuildPlan, context: BuildContext, *, resume: bool = False) -> BuildOutcome:
    """Build the wheel, give it its local version, prove it, and describe it in a file beside it.

    Exactly this plan is carried out; nothing is planned again.

    Raises:
        UserError: the plan cannot be carried out here, or an unfinished build is in its folder.
    """
    built = build(plan, context, resume=resume)
    if built.wheel is None:
        return built
    tagged = wheel.tagged(Path(built.wheel), plan.local_version)
    proof = wheel.prove(plan, tagged, context.pip(), on_event=context.on_event)
    info = wheel.describe(plan, tagged, built.runs, venv.installed(plan.layout.python), proof)
    path = wheel.write_info(info, tagged.parent, Redactor.this_machine(context.host))
    return replace(built, wheel=str(tagged), proof=proof, info=str(path))


def build(plan: BuildPlan, context: BuildContext, *, resume: bool = False) -> BuildOutcome:
    """Build the wheel as the command makes it: neither tagged nor proven.

    Interrupted, it leaves what a later call with `resume` goes on with.

    Raises:
        UserError: the plan cannot be carried out here, or an unfinished build is in its folder.
    """
    with _locked(plan):
        if not resume:
            _begin(plan)
        captured, scripts = _prepare(plan, context)
        runs = _compile(plan, context, captured, scripts)
        log = plan.layout.root / runs[-1].log
        outcome = BuildOutcome(runs=runs, log=str(log))
        if runs[-1].ending == "finished":
            return replace(outcome, wheel=str(_wheel(plan, log)))
        with log.open("rb") as stream:
            found = explain_stream(stream, context.facts)
        return replace(outcome, problems=found.problems, suspicious=found.suspicious)


@contextmanager
def _locked(plan: BuildPlan) -> Iterator[None]:
    """Make the build folder and keep other builds out of it."""
    layout = plan.layout
    try:
        layout.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"the build folder {layout.root} cannot be made: {error.strerror or error}",
            "Name another one: --root DIR",
        ) from None
    with locked(layout.lock, str(layout.root), wait=0):
        yield


def _begin(plan: BuildPlan) -> None:
    """Make room for a build, unless hours of work are there."""
    layout = plan.layout
    runs = read_state(plan).runs
    if runs and runs[-1].ending != "finished":
        done = len(attempt.finished(layout.source))
        if done:
            raise UserError(
                f"{layout.root} holds an unfinished build, {done} steps of which are done",
                "Go on with it: --resume. To start over, remove that folder.",
            )
    for folder in (layout.source, layout.venv, layout.dist, layout.temp):
        discard(folder)
    for log in paths_in(layout.root, "build-*.log"):
        log.unlink()
    write_state(plan, BuildState())


def _prepare(plan: BuildPlan, context: BuildContext) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The captured environment of the command, and folders for the head of PATH."""
    layout, on_event = plan.layout, context.on_event
    captured = inherited(plan, context.host)
    write_plan(plan)
    for folder in (layout.source, layout.venv, layout.temp, layout.dist):
        if not is_real_folder(folder):  # a link would have others' files changed
            discard(folder)
    on_event("source")
    source.prepare(plan, context)
    if not is_project(layout.source / plan.source.subfolder):
        raise UserError(
            f"{plan.source.location} holds neither setup.py nor pyproject.toml",
            "Name the project itself: --source DIR, or another commit: --ref REF",
        )
    if plan.cuda and plan.cuda.origin == "assembled":
        on_event(f"CUDA {plan.cuda.version}")
        source.assemble(plan.cuda.parts, Path(plan.cuda.path), context)
    on_event("build environment")
    python = venv.make(plan.target, layout.venv, plan.runtime)
    wanted = venv.missing(plan.requirements, venv.installed(python.python))
    if wanted:
        on_event(f"installing {', '.join(wanted)}")
        venv.install(python, context.pip(), wanted, context.pip_options)
    for folder in (layout.temp, layout.dist):
        folder.mkdir(exist_ok=True)
    return captured, python.scripts


def _compile(
    plan: BuildPlan, context: BuildContext, captured: Mapping[str, str], scripts: tuple[str, ...]
) -> tuple[BuildRun, ...]:
    """Run the command until it succeeds or fails for something that fewer jobs do not cure."""
    layout = plan.layout
    while True:
        earlier = read_state(plan)
        jobs = earlier.jobs(plan.jobs)
        # what an interrupted run may have left and a new one would trust
        for path in paths_in(layout.dist, "*.whl"):
            path.unlink()
        for path in attempt.remove_damaged(attempt.finished(layout.source)):
            context.on_event(f"{path.name} is cut short: compiled again")
        start = command(plan.with_jobs(jobs), context.host, scripts)
        log = layout.root / f"build-{len(earlier.runs) + 1}.log"
        totals = (run.total for run in reversed(earlier.runs) if run.total)
        counter = attempt.Counter(
            before=len(attempt.finished(layout.source)),
            planned=plan.compile_steps or next(totals, None),
        )
        context.on_event(f"compiling with {jobs} jobs; log: {log}")
        run, code = attempt.carry_out(
            start.argv,
            log,
            BuildRun(jobs=jobs, log=log.name),
            counter,
            env=start.environment(captured),
            cwd=Path(start.folder),
            on_progress=context.on_event,
            note=partial(_note, plan, earlier),
        )
        if run.ending == "failed" and attempt.is_out_of_memory(log, code):
            run = replace(run, ending="out-of-memory")
        state = _note(plan, earlier, run)
        # a single job that got further than the last one may succeed where others left it room
        if run.ending != "out-of-memory" or (jobs == 1 and not run.steps):
            return state.runs
        context.on_event(f"out of memory with {jobs} jobs: going on with {state.jobs(plan.jobs)}")


def _note(plan: BuildPlan, earlier: BuildState, run: BuildRun) -> BuildState:
    state = BuildState(runs=(*earlier.runs, run))
    write_state(plan, state)
    return state


def _wheel(plan: BuildPlan, log: Path) -> Path:
    wheels = [path for path in paths_in(plan.layout.dist, "*.whl") if is_file(path)]
    if len(wheels) != 1:
        raise UserError(
            f"the build ended well, but {plan.layout.dist} holds {len(wheels)} wheels, not one",
            f"Look at its log: {log}",
        )
    return wheels[0]


# --- what a build folder remembers between runs


def write_plan(plan: BuildPlan) -> None:
    """Store the plan for `--resume`."""
    _write(plan.layout.plan, plan)


def read_plan(path: Path) -> BuildPlan:
    """The stored plan, `Layout.plan`, of the build in a folder.

    Raises:
        UserError: there is none, or it is damaged.
    """
    if not is_file(path):
        raise UserError(
            f"no build was begun in {path.parent}",
            "Begin one without --resume, or name its folder: --root DIR",
        )
    try:
        return from_json(BuildPlan, parse(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be used: {error}", "Remove the folder and start over without --resume."
        ) from None


def write_state(plan: BuildPlan, state: BuildState) -> None:
    _write(plan.layout.state, state)


def read_state(plan: BuildPlan) -> BuildState:
    """The runs of the build; empty if that is not known."""
    try:
        return from_json(BuildState, parse(read_text(plan.layout.state) or ""))
    except ValueError:
        return BuildState()


def _write(path: Path, record: BuildPlan | BuildState) -> None:
    replace_whole(path, json.dumps(to_json(record), indent=1).encode())

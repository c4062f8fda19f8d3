"""Records of a build: its plan, which is shown, stored for `--resume` and carried out; its outcome.

`--plan --json` prints exactly the plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Literal, TypeAlias, cast

from tritonwin.problems.records import Evidence, Problem
from tritonwin.support.wheel_choice import FileSource, WheelChoice
from tritonwin.verify.records import BROKEN, RungResult

GIB = 2**30

SourceKind = Literal["sdist", "folder", "git"]
ToolkitOrigin = Literal["system", "conda", "packages", "assembled"]


class Layout:
    """The files and folders of a build, below its root.

    The plan may be for another system than this one; its paths are then those of that system.

    Attributes:
        source: the edited source.
        venv, python: the build environment, and its interpreter.
        cuda: CUDA_HOME of an assembled toolkit.
        proof: the environment in which the wheel is tried.
        temp: TEMP, TMP and TMPDIR of the compilers.
        plan, state: the stored plan, and how the runs of the build went.
        commit: the commit of a source from git.
    """

    def __init__(self, root: str, *, windows: bool) -> None:
        foreign = PureWindowsPath(root) if windows and os.name != "nt" else Path(root)
        self.windows = windows
        self.root = top = cast("Path", foreign)
        self.source, self.venv, self.cuda = top / "s", top / "v", top / "c"
        self.python = self.venv / ("Scripts/python.exe" if windows else "bin/python")
        self.proof, self.temp, self.dist = top / "p", top / "t", top / "dist"
        self.plan, self.state = top / "plan.json", top / "state.json"
        self.commit, self.lock = top / "commit", top / "lock"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """The reason for a value.

    Attributes:
        name: what was decided: "archs", "cuda", "toolset", "jobs" ...
        value: as it is shown to a person.
        reason: why, in a sentence.
        flag: the option that decides otherwise; empty where there is none.
    """

    name: str
    value: str
    reason: str
    flag: str = ""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """A reason against a plan: the id of the problem, and the remedy."""

    problem: str
    message: str
    help: str


@dataclass(frozen=True, kw_only=True)
class BuildSource:
    """The source of a build.

    Attributes:
        location: path or address of the sdist, or its mere file name where the package index that
            pip is configured for has it; the folder; or the address of the repository.
        sha256: of the sdist; None for a folder and for git.
        ref: commit, tag or branch of the repository.
        submodules: folders of the submodules that the build needs; no others are fetched. ".": all.
        skip: folders below the root, as POSIX paths, that the source folder does not get.
        subfolder: where setup.py or pyproject.toml lies, below the root; empty: in the root.
    """

    kind: SourceKind
    location: str
    sha256: str | None = None
    ref: str | None = None
    submodules: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    subfolder: str = ""


@dataclass(frozen=True, kw_only=True)
class SourceEdit:
    """A change to a file of the source, made once after it was unpacked or copied.

    Attributes:
        file: below the source's root.
        find: text that is replaced wherever it stands.
        required: whether its absence is an error; the work of others may already hold the change.
    """

    file: str
    find: str
    replace: str
    reason: str
    required: bool = True


@dataclass(frozen=True, kw_only=True)
class Toolkit:
    """The CUDA toolkit of the build.

    Attributes:
        path: CUDA_HOME; of an assembled one, the folder that it will be in.
        version: "13.0".
        msvc: the toolsets that its nvcc accepts: ">=14.20,<14.50"; empty: not known.
        parts: wheels that an assembled toolkit is unpacked from; empty for one that exists.
    """

    origin: ToolkitOrigin
    path: str
    version: str
    msvc: str = ""
    parts: tuple[FileSource, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """The C++ compiler of the build: an MSVC toolset, or what PATH has elsewhere.

    Attributes:
        version: "14.44.35207" of MSVC; empty elsewhere.
        vcvarsall: the batch file whose environment is captured; None if the system has none.
        compiler: the program.
    """

    product: str
    version: str
    compiler: str
    vcvarsall: str | None = None


@dataclass(frozen=True, kw_only=True)
class CompilerMemory:
    """Memory that the build needs at once, in bytes.

    Attributes:
        free: what may be allocated when the plan was made; None: not known.
        reserve: left to everything else.
        base: of the programs that start the compilers.
        compiler: the peak of the heaviest compiler process.
        together: what a further compiler adds to the peak, as a share of its own: 0.6.
        bound: never exceeded with these jobs.
        expected: the peak to be expected, for not every compiler is at its worst at once.
    """

    free: int | None
    reserve: int
    base: int
    compiler: int
    together: float
    bound: int
    expected: int

    def at(self, jobs: int) -> CompilerMemory:
        """The same model with another number of compilers."""
        return replace(
            self,
            bound=self.base + jobs * self.compiler,
            expected=self.base + round(self.compiler * (1 + (jobs - 1) * self.together)),
        )


@dataclass(kw_only=True)
class Notes:
    """The notes of a plan's choices: reasons of values, warnings, refusals."""

    reasons: list[Reason] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    refusals: list[Obstacle] = field(default_factory=list)

    def because(self, name: str, value: str, reason: str, flag: str = "") -> None:
        """Note a choice; `flag` is the option that decides otherwise."""
        self.reasons.append(Reason(name=name, value=value, reason=reason, flag=flag))

    def refuse(self, message: str, help_text: str = "", problem: str = "") -> None:
        """Note a reason against the plan, and the id of its problem where the catalogue has one."""
        self.refusals.append(Obstacle(problem=problem, message=message, help=help_text))

    def take_over(self, others: Notes) -> None:
        """Add the notes of a part of the plan."""
        self.reasons += others.reasons
        self.warnings += others.warnings
        self.refusals += others.refusals


@dataclass(frozen=True, kw_only=True)
class BuildPlan:
    """A build as it will be carried out.

    Attributes:
        distribution: normalised name of the wheel: "flash-attn".
        target: the interpreter whose Python and torch the wheel is for.
        runtime: folder of an embedded Python, which has no venv: the build runs in a copy of it.
        torch: version of its torch; None where the wheel does not depend on torch.
        wheel: the chooser's answer: an existing wheel that fits, or why there is none.
        archs: "8.0", "9.0a", "12.0": what is compiled.
        environment: variables that are set, on top of the captured environment.
        path: folders for the head of PATH.
        requirements: of the build environment, besides the target's torch, as pip reads them.
        command: arguments of the build environment's Python, run in the source's subfolder.
        job_variables: those of `environment` that carry the number of jobs.
        extension_variables: those that carry the number of extensions side by side.
        compile_steps: files that are compiled or linked, as ninja counts; None: not known.
        local_version: what the wheel's version gets behind "+": "cu130torch2.11".
        imports: modules that must import when the wheel is installed.
        extension: pattern of the compiled modules inside the wheel, whose architectures are read.
        rungs: of the ladder, that prove the wheel on a GPU.
    """

    recipe: str
    distribution: str
    version: str
    source: BuildSource
    root: str
    target: str
    runtime: str | None = None
    python: str  # "3.12.9"
    windows: bool
    torch: str | None
    torch_cuda: str | None
    wheel: WheelChoice | None = None
    archs: tuple[str, ...]
    cuda: Toolkit | None
    toolset: Toolset | None
    cpp_standard: str | None  # "17", "20"
    edits: tuple[SourceEdit, ...] = ()
    jobs: int
    memory: CompilerMemory
    disk_bytes: int
    seconds: float | None
    compile_steps: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    job_variables: tuple[str, ...] = ()
    extension_variables: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    command: tuple[str, ...]
    local_version: str = ""
    imports: tuple[str, ...] = ()
    extension: str = ""
    rungs: tuple[str, ...] = ()
    decisions: tuple[Reason, ...] = ()
    warnings: tuple[str, ...] = ()
    refusals: tuple[Obstacle, ...] = ()

    @property
    def layout(self) -> Layout:
        return Layout(self.root, windows=self.windows)

    @property
    def project(self) -> Path:
        """The folder of setup.py or pyproject.toml, in which the command is started."""
        return self.layout.source / self.source.subfolder

    @property
    def possible(self) -> bool:
        return not self.refusals

    def with_jobs(self, jobs: int) -> BuildPlan:
        """The same build with another number of jobs; the memory figures follow."""
        numbers = {name: str(jobs) for name in self.job_variables}
        if jobs < (self.compile_steps or 0):
            numbers |= dict.fromkeys(self.extension_variables, "1")
        memory = self.memory.at(jobs)
        return replace(self, jobs=jobs, memory=memory, environment={**self.environment, **numbers})


# --- runs and how they ended

Ending = Literal["running", "finished", "failed", "out-of-memory", "interrupted"]
StepState = Literal["passed", "failed", "not-applicable"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a running build.

    Attributes:
        done: finished compile and link steps, those of earlier runs included.
        total: of all; None until the builder has said it.
        remaining: seconds, by the rate so far; None until there is one.
    """

    done: int
    total: int | None
    remaining: float | None = None


Event: TypeAlias = "str | Progress"  # a line at every stage, and the progress of the compilers
OnEvent: TypeAlias = Callable[[Event], None]


@dataclass(frozen=True, kw_only=True)
class BuildRun:
    """One start of the build's command. One that stayed "running" was ended from outside.

    Attributes:
        steps: compile and link steps that it finished.
        total: steps of all runs together, where that became known.
        peak_memory: of all its processes at once, in bytes, as sampled.
        log: the name of its log in the build folder.
    """

    jobs: int
    ending: Ending = "running"
    seconds: float = 0.0
    peak_memory: int = 0
    steps: int = 0
    total: int | None = None
    log: str = ""


@dataclass(frozen=True, kw_only=True)
class ProofStep:
    """One thing that was tried with a wheel."""

    name: str
    state: StepState
    detail: str


@dataclass(frozen=True, kw_only=True)
class WheelProof:
    """The proof of a wheel.

    Attributes:
        archs: of the machine code and PTX inside it: "9.0", "12.0+PTX".
        rungs: of the ladder; empty where there is no GPU.
    """

    steps: tuple[ProofStep, ...]
    archs: tuple[str, ...] = ()
    rungs: tuple[RungResult, ...] = ()

    @property
    def holds(self) -> bool:
        """Nothing failed."""
        broken = any(r.state in BROKEN for r in self.rungs)
        return not broken and all(step.state != "failed" for step in self.steps)


@dataclass(frozen=True, kw_only=True)
class BuildInfo:
    """The inputs and the proof of a wheel, stored beside it as `<wheel>.build-info.json`.

    Attributes:
        inputs: file -> sha256, or address of a repository -> commit.
        versions: program or distribution -> version.
        runs: oldest first, with their jobs, times and memory.
    """

    schema: Literal["tritonwin.build-info/2"] = "tritonwin.build-info/2"
    wheel: str
    sha256: str
    size: int
    plan: BuildPlan
    inputs: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    runs: tuple[BuildRun, ...] = ()
    proof: WheelProof | None = None


@dataclass(frozen=True, kw_only=True)
class BuildOutcome:
    """The end of a build.

    Attributes:
        log: everything that the last run printed.
        wheel: None: the build failed.
        info: the file beside the wheel.
        problems: what the log of a failure shows.
        suspicious: lines of the log to look at, where it shows no known problem.
    """

    runs: tuple[BuildRun, ...] = ()
    log: str
    wheel: str | None = None
    proof: WheelProof | None = None
    info: str | None = None
    problems: tuple[Problem, ...] = ()
    suspicious: tuple[Evidence, ...] = ()

    @property
    def proven(self) -> bool:
        """There is a wheel, and nothing that was tried with it failed."""
        return self.proof is not None and self.proof.holds

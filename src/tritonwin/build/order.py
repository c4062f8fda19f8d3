"""A build that is asked for: the recipe, the user's options, and the machine."""

from __future__ import annotations

import ntpath
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.requirements import Requirement

from tritonwin.build import jobs, triton
from tritonwin.build.jobs import Resources
from tritonwin.build.recipe import Circumstances, Recipe, load
from tritonwin.build.records import Notes
from tritonwin.build.source import BuildContext, is_project
from tritonwin.errors import UserError
from tritonwin.facts.records import Facts, Interpreter, Torch
from tritonwin.support.chooser import SetChooser
from tritonwin.support.install_plan import sources_for
from tritonwin.support.wheel_choice import WheelChoice
from tritonwin.system.access import nearest_existing
from tritonwin.system.files import is_file, is_folder, read_text
from tritonwin.system.host import Environment, Host, data_folder
from tritonwin.system.process import run

_SECONDS = 60.0  # for a Python to start
_METADATA = r"^Version: (\S{1,60})$"
_PROJECT = r"""^\s{0,8}version\s?=\s?["']([^"']{1,60})["']"""


@dataclass(frozen=True, kw_only=True)
class Order:
    """The options of `tritonwin build`; None or empty: the plan decides.

    Attributes:
        source: a folder, an archive (.tar.gz), or the address of a repository.
        ref: of the repository: a commit, a tag, a branch.
        archs: compute capabilities, "8.9", "9.0a".
        cuda: a folder, a version, or "assembled".
        root: the folder in which build folders are made.
        nvcc_flags: put behind those of the recipe.
        anyway: build although a wheel that fits exists.
    """

    recipe: str
    version: str | None = None
    source: str | None = None
    ref: str | None = None
    archs: tuple[str, ...] = ()
    cuda: str | None = None
    msvc: str | None = None
    jobs: int | None = None
    root: Path | None = None
    nvcc_flags: tuple[str, ...] = ()
    anyway: bool = False
    offline: bool = False


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A source folder of the user's."""

    version: str | None
    subfolder: str
    pins: triton.TritonPins | None = None


@dataclass(frozen=True, kw_only=True)
class BuildMachine:
    """The machine as the planner sees it; nothing else is asked of it.

    Attributes:
        disk_free: bytes on the disk of the build root.
        wheel: the chooser's answer for the package; None: it was not asked.
        checkout: of `Order.source`, where that is a folder.
        venv: the target's Python has the module venv; None: not known.
        runtime: the folder of the target's Python, if it is an embedded one and runs anywhere.
        elsewhere: it is known from a snapshot alone.
    """

    facts: Facts
    host: Host
    resources: Resources
    disk_free: int | None = None
    wheel: WheelChoice | None = None
    checkout: Checkout | None = None
    venv: bool | None = None
    runtime: str | None = None
    elsewhere: bool = False


@dataclass(frozen=True, kw_only=True)
class Request:
    """The input of every choice of a plan, and the notes of those that were made."""

    recipe: Recipe
    order: Order
    machine: BuildMachine
    notes: Notes = field(default_factory=Notes)

    @property
    def host(self) -> Host:
        return self.machine.host

    @property
    def facts(self) -> Facts:
        return self.machine.facts

    @property
    def windows(self) -> bool:
        return self.machine.host.windows

    @property
    def torch(self) -> Torch | None:
        return self.machine.facts.torch

    @property
    def torch_cuda(self) -> str | None:
        """The CUDA that torch was built for: "12.8"."""
        return self.torch.cuda if self.torch else None

    @property
    def target(self) -> Interpreter:
        """The interpreter that the wheel is for.

        Raises:
            UserError: there is none.
        """
        target = self.machine.facts.target
        if target is None or target.version is None:
            raise UserError("there is no Python to build for", "Name it: --python EXE")
        return target

    @property
    def parent(self) -> str:
        """The folder in which build folders are made."""
        return parent_folder(self.order.root, self.host)

    def circumstances(
        self, version: str, cuda: str | None = None, cpp: str | None = None
    ) -> Circumstances:
        """The values for the recipe's conditions."""
        torch = self.torch.version if self.torch else None
        return Circumstances(version=version, torch=torch, cuda=cuda, cpp=cpp, windows=self.windows)


def parent_folder(root: Path | None, host: Host) -> str:
    """The folder in which build folders are made: `C:\\tw\\b` where the paths must be short.

    Raises:
        UserError: its name cannot be held by variables and files of the build.
    """
    if root is not None:
        found = str(root.absolute())
    elif host.windows:
        found = f"{host.env.get('SystemDrive') or 'C:'}\\tw\\b"
    else:
        found = str(data_folder(host.env) / "builds")
    if not found.isprintable():  # nor are bytes that cannot be decoded
        raise UserError(
            f"the name of the folder for builds is not text that programs can read: {found!r}",
            "Name another one: --root DIR",
        )
    return found


def survey(
    order: Order, facts: Facts, context: BuildContext, *, elsewhere: bool = False
) -> BuildMachine:
    """Look at the machine that a build is planned for.

    The target's indexes and the public lists are asked for a wheel that exists already.

    Args:
        elsewhere: the facts are a snapshot's, and nothing else is known: all of the memory counts
            as free, and the disk as large enough. Of places for wheels the public lists are asked.

    Raises:
        UserError: no such recipe, source or folder.
    """
    host, free = context.host, None
    if elsewhere:
        windows = facts.system.os == "windows"
        host = replace(host, env=Environment({}, windows=windows), windows=windows)
        memory, cores = facts.system.memory_bytes, facts.system.cpu_count or 1
        resources = Resources(allocatable=memory, physical=memory, cores=cores)
    else:
        resources, root = jobs.resources(), Path(parent_folder(order.root, host))
        with suppress(OSError):
            free = shutil.disk_usage(nearest_existing(root) or root).free
    folder = Path(order.source) if order.source else None
    venv, runtime = _environment(facts.target, windows=host.windows, elsewhere=elsewhere)
    return BuildMachine(
        facts=facts,
        host=host,
        resources=resources,
        disk_free=free,
        checkout=read_checkout(folder, load(order.recipe), windows=host.windows)
        if folder and is_folder(folder)
        else None,
        wheel=_wheel(order, facts, context, elsewhere=elsewhere),
        venv=venv,
        runtime=runtime,
        elsewhere=elsewhere,
    )


def _environment(
    target: Interpreter | None, *, windows: bool, elsewhere: bool
) -> tuple[bool | None, str | None]:
    """True if the target has the module venv; the folder of a Python that runs from anywhere."""
    if target is None:
        return None, None
    runtime = ntpath.dirname(target.base_executable or target.executable)
    if elsewhere:
        embedded = "embedded" in (target.kind, *target.managers)
        return (False, runtime) if embedded else (None, None)
    venv = None
    with suppress(OSError, ValueError):  # there is no such program here
        venv = run(target.executable, ("-I", "-c", "import venv"), timeout=_SECONDS).code == 0
    # only the standard library in a zip beside the program runs anywhere
    library = f"python{''.join((target.version or '').split('.')[:2])}.zip"
    return venv, runtime if windows and is_file(Path(runtime, library)) else None


def read_checkout(folder: Path, recipe: Recipe, *, windows: bool) -> Checkout:
    """Examine a folder; Triton up to 3.3 keeps its setup.py in `python`.

    Raises:
        UserError: it holds no Python project.
    """
    places = [s for s in ("", "python") if is_project(folder / s)]
    if not places:
        raise UserError(
            f"{folder} holds neither setup.py nor pyproject.toml",
            "Name the folder of the project itself: --source DIR",
        )
    is_triton = is_folder(folder / "cmake") and is_file(folder / "cmake" / "json-version.txt")
    return Checkout(
        version=_version(folder, folder / places[0], recipe),
        subfolder=places[0],
        pins=triton.read_pins(folder / "cmake", windows=windows) if is_triton else None,
    )


def _version(root: Path, project: Path, recipe: Recipe) -> str | None:
    named = (project if recipe.version_file == "setup.py" else root) / recipe.version_file
    for file, pattern in (
        *([(named, recipe.version_pattern)] if recipe.version_file else ()),
        (project / "PKG-INFO", _METADATA),
        (project / "pyproject.toml", _PROJECT),
        (project / "setup.py", _PROJECT),
    ):
        if found := re.search(pattern, read_text(file) or "", re.MULTILINE):
            return str(found[1])
    return None


def _wheel(
    order: Order, facts: Facts, context: BuildContext, *, elsewhere: bool = False
) -> WheelChoice | None:
    """The chooser's answer; None where it cannot be asked, or a source of the user's is built."""
    distribution = load(order.recipe).distribution
    if not distribution or order.source or order.ref or order.anyway:
        return None
    offline = order.offline
    wanted = f"{distribution}=={order.version}" if order.version else distribution
    try:
        sources = sources_for(
            facts,
            context.pip,
            lists=map(str, context.folders),
            public=not offline,
            offline=offline or elsewhere,
        )
        chooser = SetChooser(facts=facts, sources=replace(sources, offline=offline))
        choices = chooser.choose([Requirement(wanted)]).choices
    except UserError:
        return None
    return next((c for c in choices if c.package == distribution), None)

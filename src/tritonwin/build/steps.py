"""A plan as the steps of a script that needs nothing but the target's Python."""

from __future__ import annotations

import contextlib
import ntpath
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tritonwin.build import login as logins
from tritonwin.build import programs, repository
from tritonwin.build.environment import NEVER
from tritonwin.build.model import BuildPlan, PinnedFile, Source
from tritonwin.errors import UserError


class ScriptError(UserError):
    """The plan cannot be written as a script."""


@dataclass(frozen=True, kw_only=True)
class Note:
    text: str


@dataclass(frozen=True, kw_only=True)
class Folder:
    path: str


@dataclass(frozen=True, kw_only=True)
class Set:
    """A variable; `value` None takes it away."""

    name: str
    value: str | None


@dataclass(frozen=True, kw_only=True)
class Head:
    """Folders for the head of PATH."""

    folders: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A program with its words; not run where the file `unless` exists.

    Attributes:
        cwd: the folder to run in.
        vcvarsall: Visual Studio's batch file, whose environment it runs in.
        toolset: for its `-vcvars_ver=`.
    """

    words: tuple[str, ...]
    unless: str | None = None
    cwd: str | None = None
    vcvarsall: str | None = None
    toolset: str | None = None


Step = Note | Folder | Set | Head | Run
# where the script is started there may lie a tarfile.py, or a folder called pip
_ISOLATED = ("-I", "-B")
_Addresses: TypeAlias = Mapping[str, tuple[str, str]]  # file -> address, variable of its login


def steps(plan: BuildPlan, addresses: Mapping[str, str]) -> Iterator[Step]:
    """What a script does, in order.

    Args:
        addresses: file name -> where it can be fetched; a file without one must lie in the build
            folder already. What stands before its "@" is left to a variable.

    Raises:
        ScriptError: the plan is refused.
    """
    if not plan.possible:
        raise ScriptError(
            f"there is no script for a plan that is refused: {plan.refusals[0].message}",
            plan.refusals[0].help,
        )
    path = ntpath if plan.windows else posixpath
    root, target = plan.root, plan.target
    folder = {n: path.join(root, n) for n in ("s", "v", "c", "t", "dist", "files")}
    yield Note(text=f"{plan.distribution or plan.recipe} {plan.version} for {target}")
    for place in folder.values():
        yield Folder(path=place)
    known = _without_secrets(addresses)
    yield Note(text="the source")
    yield from _source(plan, plan.source, known, folder)
    yield from _edits(plan, folder["s"])
    yield Note(text="the build environment, which sees the packages of the target")
    yield from _environment(plan, folder["v"])
    if plan.cuda and plan.cuda.parts:
        yield Note(text="the CUDA toolkit")
        yield from _toolkit(plan, plan.cuda.parts, known, folder)
    yield Note(text="the build")
    yield from _build(plan, folder, known)


def _build(plan: BuildPlan, folder: Mapping[str, str], known: _Addresses) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    logins_read = filter(None, (plan.source.login, *(login for _, login in known.values())))
    for name in dict.fromkeys((*NEVER, *plan.unset, "TW_FIND", "TW_REPLACE", *logins_read)):
        yield Set(name=name, value=None)
    for name, value in plan.environment.items():
        yield Set(name=name, value=value)
    scripts = path.dirname(_python(plan, folder["v"]))
    yield Head(folders=(scripts, *plan.path))
    yield Run(
        words=(_python(plan, folder["v"]), *plan.command),
        cwd=path.join(folder["s"], *filter(None, plan.source.subfolder.split("/"))),
        vcvarsall=plan.toolset.vcvarsall if plan.toolset else None,
        toolset=plan.toolset.vcvars_ver if plan.toolset else None,
    )


def _edits(plan: BuildPlan, folder: str) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    for edit in plan.edits:
        yield Set(name="TW_FIND", value=edit.find)
        yield Set(name="TW_REPLACE", value=edit.replace)
        file = path.join(folder, *edit.file.split("/"))
        need = "required" if edit.required else "optional"
        yield _program(plan, programs.EDIT, folder, file, need)


def _without_secrets(addresses: Mapping[str, str]) -> _Addresses:
    """Those that a script can hold: an address with a token elsewhere than in its login cannot."""
    known = {}
    for file, address in addresses.items():
        with contextlib.suppress(UserError):
            clean, login = logins.split(address)
            known[file] = (clean, login.variable if login else "")
    return known


def _source(
    plan: BuildPlan, source: Source, known: _Addresses, folder: Mapping[str, str]
) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    if source.kind == "folder":
        yield _program(plan, programs.COPY, source.location, folder["s"], *source.skip)
        return
    if source.kind == "sdist":
        file, lies_here = source.location, path.basename(source.location) != source.location
        if not lies_here:
            file = path.join(folder["files"], file)
        if not lies_here or source.sha256:
            yield from _fetch(plan, file, source.sha256, {} if lies_here else known)
        program = programs.UNPACK_ZIP if file.endswith(".zip") else programs.UNPACK_TAR
        unless = path.join(folder["s"], "setup.py")
        yield _program(plan, program, file, folder["s"], *source.skip, unless=unless)
        return
    for name in repository.VARIABLES:
        yield Set(name=name, value=None)
    done = path.join(folder["s"], programs.CHECKED_OUT)
    if source.login:
        yield Note(text=f"{source.login} must hold USER:TOKEN for {source.location}")
        yield _program(plan, programs.NEED, source.login, unless=done)
    for words in repository.checkout(source):
        call = ("git", "-C", folder["s"], *repository.options(source, words[0]), *words)
        yield Run(words=call, unless=done)
    gone = (".git", *source.skip)
    yield _program(plan, programs.LEAVE_OUT, folder["s"], *gone)


def _environment(plan: BuildPlan, venv: str) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    python = _python(plan, venv)
    minor = ".".join(plan.python.split(".")[:2])
    site = ("Lib",) if plan.windows else ("lib", f"python{minor}")
    pip = () if plan.requirements else ("--without-pip",)
    yield Run(words=(plan.target, *_ISOLATED, "-m", "venv", *pip, venv), unless=python)
    # not isolated: it asks what an ordinary start sees, and imports nothing
    yield Run(words=(plan.target, "-c", programs.LINK, path.join(venv, *site, "site-packages")))
    if plan.requirements:
        yield Run(words=(python, *_ISOLATED, "-m", "pip", "install", "--quiet", *plan.requirements))


def _toolkit(
    plan: BuildPlan,
    parts: tuple[PinnedFile, ...],
    known: _Addresses,
    folder: Mapping[str, str],
) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    for part in parts:
        file = path.join(folder["files"], part.file)
        yield from _fetch(plan, file, part.sha256, known)
        yield _program(plan, programs.UNPACK_WHEEL, file, folder["c"])
    if not plan.windows:
        yield _program(plan, programs.NAME_LIBRARIES, path.join(folder["c"], "lib"))


def _fetch(plan: BuildPlan, file: str, sha256: str | None, known: _Addresses) -> Iterator[Step]:
    path = ntpath if plan.windows else posixpath
    address, login = known.get(path.basename(file), ("", ""))
    if login:
        yield Note(text=f"{login} must hold USER:TOKEN for {address}")
    words = filter(None, (address, login))
    yield _program(plan, programs.FETCH, file, sha256 or "", *words)


def _program(plan: BuildPlan, program: str, *words: str, unless: str | None = None) -> Run:
    """One of `programs`, which need nothing but the standard library."""
    return Run(words=(plan.target, *_ISOLATED, "-c", program, *words), unless=unless)


def _python(plan: BuildPlan, venv: str) -> str:
    if plan.windows:
        return ntpath.join(venv, "Scripts", "python.exe")
    return posixpath.join(venv, "bin", "python")

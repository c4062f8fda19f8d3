"""The plan: one frozen record for each kind of change, which is shown, applied and written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tritonwin import __version__
from tritonwin.errors import UserError
from tritonwin.facts.history import PatchedFile
from tritonwin.facts.records import Facts, Interpreter
from tritonwin.support.wheel_choice import FileSource

# how a fix ends
Status = Literal[
    "healthy",  # nothing to do
    "planned",  # a dry run
    "declined",
    "proven",
    "stuck",  # problems remain, or a rung fails
    "undone",  # the changes made it worse
]
StoredScope = Literal["user", "machine"]


class CannotRemedyError(UserError):
    """A remedy that cannot be planned here; the message says why, `help` what a person can do."""


class ChangedSincePlanError(UserError):
    """The target is no longer as the plan was made for; the message says what changed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "Nothing was changed. Run the command again for a new plan.")


def target_to_change(facts: Facts) -> Interpreter:
    """The target. Raises CannotRemedyError where there is none."""
    if facts.target is None:
        raise CannotRemedyError(
            "no target interpreter", "Name a Python: --python EXE, or --app DIR."
        )
    return facts.target


@dataclass(frozen=True, kw_only=True)
class _Change:
    """The fields that all kinds of change share.

    Attributes:
        problems: ids of the problems that it is to solve.
        removes: files and folders that are taken away.
        stays: files of others in folders that are taken away or replaced.
        admin: it needs administrator rights.
        note: what a person has to know or do besides.
    """

    what: str
    why: str = ""
    problems: tuple[str, ...] = ()
    sources: tuple[FileSource, ...] = ()
    removes: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    admin: bool = False
    note: str | None = None

    @property
    def network(self) -> bool:
        """True where something is fetched from another machine."""
        return any("://" in s.location and not s.location.startswith("file:") for s in self.sources)


def need_rights(change: _Change, facts: Facts) -> None:
    """Raises CannotRemedyError where the change needs administrator rights that are not here."""
    if change.admin and facts.system.admin is False:
        raise CannotRemedyError(
            f"this needs administrator rights: {change.what}",
            "Run it in a terminal started as administrator. For packages, an environment of your "
            "own needs none: python -m venv FOLDER",
        )


@dataclass(frozen=True, kw_only=True)
class SetVariable(_Change):
    """Store an environment variable, or remove it where it is stored.

    Attributes:
        value: None: it is removed.
        scopes: empty: it is stored nowhere, and what is started now goes without it.
    """

    action: Literal["set-variable"] = "set-variable"
    variable: str
    value: str | None
    scopes: tuple[StoredScope, ...] = ("user",)


@dataclass(frozen=True, kw_only=True)
class RenameShadow(_Change):
    """Rename a file or folder that Python imports instead of a package."""

    action: Literal["rename-shadow"] = "rename-shadow"
    path: str
    new: str


@dataclass(frozen=True, kw_only=True)
class InstallWheels(_Change):
    """Install the wheels in `sources` in the place of the distributions in `removes`.

    Attributes:
        cuda: what the torch that will be there was built for, "12.8".
        gpus: compute capabilities, one of which compiled packages must have code for.
    """

    action: Literal["install-distribution"] = "install-distribution"
    cuda: str | None = None
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BuildWheel(_Change):
    """Build a wheel from source and install it.

    Attributes:
        plan: the hash of the build's own plan, which `apply` is handed.
    """

    action: Literal["build-wheel"] = "build-wheel"
    distribution: str
    version: str
    plan: str


@dataclass(frozen=True, kw_only=True)
class EnableSite(_Change):
    """Write `import site` into a `._pth` file."""

    action: Literal["enable-site"] = "enable-site"
    path: str


@dataclass(frozen=True, kw_only=True)
class CopyRuntime(_Change):
    """Put the VC runtime beside python.exe."""

    action: Literal["vc-runtime"] = "vc-runtime"
    folder: str


@dataclass(frozen=True, kw_only=True)
class CopyHeaders(_Change):
    """Put Python's headers and import libraries into a folder."""

    action: Literal["python-headers"] = "python-headers"
    folder: str


@dataclass(frozen=True, kw_only=True)
class ApplyPatch(_Change):
    """Patch the files of a Triton, each from one content to another."""

    action: Literal["patch"] = "patch"
    package: str
    files: tuple[PatchedFile, ...]


@dataclass(frozen=True, kw_only=True)
class ClearCache(_Change):
    """Take entries out of a cache, those in `removes`."""

    action: Literal["clear-cache"] = "clear-cache"
    path: str


@dataclass(frozen=True, kw_only=True)
class AllowLongPaths(_Change):
    """Allow long paths in Windows."""

    action: Literal["enable-long-paths"] = "enable-long-paths"


@dataclass(frozen=True, kw_only=True)
class SwitchDriver(_Change):
    """Let Triton's driver run in Python instead of compiled C; the hook goes into `folder`."""

    action: Literal["python-driver"] = "python-driver"
    folder: str


@dataclass(frozen=True, kw_only=True)
class FileText:
    """A file with its text before and after, a character for each byte; None: there is none."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, kw_only=True)
class KeepSet(_Change):
    """Keep pip, uv, conda and ComfyUI-Manager from replacing a proven set, or stop that."""

    action: Literal["keep-set"] = "keep-set"
    files: tuple[FileText, ...]


Change: TypeAlias = (
    SetVariable
    | RenameShadow
    | InstallWheels
    | BuildWheel
    | EnableSite
    | CopyRuntime
    | CopyHeaders
    | ApplyPatch
    | ClearCache
    | AllowLongPaths
    | SwitchDriver
    | KeepSet
)


@dataclass(frozen=True, kw_only=True)
class Unsolved:
    """A problem that the plan leaves, and what a person can do about it."""

    problem: str
    reason: str
    help: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Changes in the order in which they are made."""

    schema: Literal["tritonwin.plan/2"] = "tritonwin.plan/2"
    tool_version: str = __version__
    target: str  # the interpreter
    changes: tuple[Change, ...] = ()
    unsolved: tuple[Unsolved, ...] = ()

    def title(self) -> str:
        """One line for lists of what was done."""
        return "; ".join(change.what for change in self.changes) or "nothing"

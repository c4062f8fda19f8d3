"""Recipes (`recipes/*.toml`, one a package) and tables of compilers that go together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.support import matrix
from tritonwin.support.versions import fits
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.files import version_key
from tritonwin.system.toml import read_resource

GENERIC = "cuda-extension"


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """Values for conditions: versions of source, torch and toolkit, the C++ standard."""

    version: str
    windows: bool
    torch: str | None = None
    cuda: str | None = None
    cpp: str | None = None


@dataclass(frozen=True, kw_only=True)
class Conditional:
    """A row of a recipe with its conditions: all must hold, an empty one always does.

    A condition on an unknown value is false.
    """

    version: str = ""
    torch: str = ""
    cuda: str = ""
    cpp: str = ""
    windows: bool | None = None

    def holds(self, on: Circumstances) -> bool:
        asked = ((self.version, on.version), (self.torch, on.torch), (self.cuda, on.cuda))
        return (
            (self.windows is None or self.windows == on.windows)
            and (not self.cpp or self.cpp == on.cpp)
            and all(not spec or (known is not None and fits(known, spec)) for spec, known in asked)
        )


@dataclass(frozen=True, kw_only=True)
class ArchToken(Conditional):
    """A word of the source's variable, and the GPUs that its code runs on."""

    token: str
    serves: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ArchRule:
    """The variable that tells the source its architectures.

    Attributes:
        variable_since: versions that read the variable; the others compile every token they have.
        any: every architecture that nvcc knows is a token.
    """

    variable: str
    separator: str = ";"
    variable_since: str = ""
    any: bool = False
    tokens: tuple[ArchToken, ...] = ()

    def reads_variable(self, version: str) -> bool:
        """True if this version of the source reads the variable."""
        return not self.variable_since or fits(version, self.variable_since)


@dataclass(frozen=True, kw_only=True)
class RecipeVariable(Conditional):
    """`value` may hold {jobs} and {extensions}, the number of those built side by side."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, kw_only=True)
class RecipeFlag(Conditional):
    compiler: Literal["nvcc", "cxx"]
    value: str
    why: str


@dataclass(frozen=True, kw_only=True)
class RecipeEdit(Conditional):
    """`replace` may hold {cpp}, the C++ standard, and {cxx_flags}, as further list items."""

    file: str
    find: str
    replace: str
    why: str


@dataclass(frozen=True, kw_only=True)
class MemoryModel:
    """GiB of the heaviest compiler, and what each further one adds as a share of that."""

    compiler_gib: float
    together: float
    base_gib: float
    source: str


@dataclass(frozen=True, kw_only=True)
class BuildCost:
    """Time of all compilers and room for what they write.

    Attributes:
        files: that are compiled, where no release says it.
        at_once: of those side by side at most, as setup.py builds one extension after the other
            where not all of them fit; 0: all.
        alone_seconds_per_arch: the share of the time in which one compiler runs alone then.
    """

    files: int | None = None
    at_once: int = 0
    alone_seconds_per_arch: float = 0.0
    cpu_seconds: float = 0.0
    cpu_seconds_per_arch: float = 0.0
    object_mib: int = 0
    object_mib_per_arch: int = 0
    source_mib: int = 100


@dataclass(frozen=True, kw_only=True)
class SourceRelease:
    """A version of the source: an sdist with its hash, or a ref of the repository.

    Attributes:
        symlinks: its build makes symbolic links and fails where it may not.
    """

    version: str
    file: str | None = None
    sha256: str | None = None
    size: int | None = None
    ref: str | None = None
    steps: int | None = None
    cuda: str = ""
    subfolder: str = ""
    symlinks: bool = False
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that is known of building one package; the words are those of `BuildPlan`."""

    name: str = ""  # of the file
    distribution: str
    summary: str
    repository: str
    needs_torch: bool
    needs_cuda: bool
    command: tuple[str, ...]
    requirements: tuple[str, ...]
    imports: tuple[str, ...]
    extension: str
    rungs: tuple[str, ...]
    longest_path: int
    memory: MemoryModel
    work: BuildCost
    submodules: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    version_file: str = ""
    version_pattern: str = ""
    msvc: str = ""
    arch: ArchRule | None = None
    cxx_variable: str = ""
    variables: tuple[RecipeVariable, ...] = ()
    flags: tuple[RecipeFlag, ...] = ()
    edits: tuple[RecipeEdit, ...] = ()
    releases: tuple[SourceRelease, ...] = ()

    def release(self, version: str) -> SourceRelease | None:
        """The release of that version, or the newest of a series: "2.8" or "2.8.0"."""
        exact = next((r for r in self.releases if r.version == version), None)
        return exact or next((r for r in self.releases if fits(r.version, f"=={version}.*")), None)


def names() -> tuple[str, ...]:
    """The recipes that are shipped."""
    folder = files("tritonwin.build").joinpath("recipes")
    return tuple(
        sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    )


@cache
def load(name: str) -> Recipe:
    """The recipe of that name, in any spelling that package indexes take: "Flash_Attn".

    Raises:
        UserError: there is no such recipe.
    """
    asked, name = name, canonicalize_name(name)
    if name not in names():
        raise UserError(
            f"there is no recipe {asked!r}",
            f"There are {', '.join(names())}. For anything else with CUDA sources: "
            f"tritonwin build {GENERIC} --source DIR",
        )
    recipe = read_resource("tritonwin.build", f"recipes/{name}.toml", Recipe)
    return replace(recipe, name=name)


# --- which compilers go together: toolchain.toml, cuda_wheels.toml


@dataclass(frozen=True, kw_only=True)
class ToolchainRow:
    """A range of versions, what holds in it, and where that was read."""

    versions: str
    value: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """toolchain.toml; each table says what it maps to what."""

    stl: tuple[ToolchainRow, ...]
    nvcc: tuple[ToolchainRow, ...]
    cpp: tuple[ToolchainRow, ...]


@dataclass(frozen=True, kw_only=True)
class CudaWheels:
    """The wheels that a toolkit can be assembled from."""

    cuda: str
    system: Literal["windows", "linux"]
    parts: tuple[FileSource, ...]


@dataclass(frozen=True, kw_only=True)
class CudaWheelTable:
    """cuda_wheels.toml."""

    toolkits: tuple[CudaWheels, ...]


def msvc_for(cuda: str) -> str:
    """The toolsets that the nvcc of a CUDA version accepts: ">=14.20,<14.50"; empty: unknown."""
    row = matrix.load().nvcc_host(cuda)
    return row.msvc if row else ""


@cache
def toolchain(table: Literal["stl", "nvcc", "cpp"], version: str) -> str:
    """The value of a table of `toolchain.toml` for a version; empty: not known, or no limit.

    stl: MSVC toolset to the CUDA that its standard library accepts. nvcc: CUDA to the compute
    capabilities that it compiles for. cpp: torch to the C++ standard of its headers.
    """
    tables = read_resource("tritonwin.build", "toolchain.toml", Toolchain)
    rows: tuple[ToolchainRow, ...] = getattr(tables, table)
    return next((row.value for row in rows if fits(version, row.versions)), "")


@cache
def assembled(*, windows: bool) -> dict[str, tuple[FileSource, ...]]:
    """The wheels of each CUDA whose toolkit can be put together of them, the newest first."""
    rows = read_resource("tritonwin.build", "cuda_wheels.toml", CudaWheelTable).toolkits
    newest = sorted(rows, key=lambda row: version_key(row.cuda), reverse=True)
    return {row.cuda: row.parts for row in newest if (row.system == "windows") is windows}

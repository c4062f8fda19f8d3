"""Recipes: how a package is built, as data. `recipes/*.toml` say where everything is from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tritonwin.errors import UserError
from tritonwin.support.versions import fits
from tritonwin.system import toml

GENERIC = "cuda-extension"


class RecipeError(ValueError):
    """A recipe that is wrong; tests keep one from being shipped."""


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """What conditions are held against: versions of source, torch and toolkit, the C++ standard."""

    version: str
    windows: bool
    torch: str | None = None
    cuda: str | None = None
    cpp: str | None = None


@dataclass(frozen=True, kw_only=True)
class When:
    """Conditions, all of which must hold; an empty one always does.

    What a condition asks for and is not known does not hold.
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
class ArchToken:
    """A word of the source's variable, and the GPUs that its code runs on."""

    token: str
    serves: tuple[str, ...]
    when: When = field(default_factory=When)


@dataclass(frozen=True, kw_only=True)
class ArchRule:
    """How the source is told its architectures.

    Attributes:
        variable_since: versions that read the variable; the others compile every token they have.
        any: every architecture that nvcc knows is a token.
    """

    variable: str
    separator: str = ";"
    variable_since: str = ""
    any: bool = False
    tokens: tuple[ArchToken, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RecipeVariable:
    """`value` may hold {archs}, {jobs}, {threads}, {local}."""

    name: str
    value: str
    why: str
    when: When = field(default_factory=When)


@dataclass(frozen=True, kw_only=True)
class RecipeFlag:
    compiler: Literal["nvcc", "cxx"]
    value: str
    why: str
    when: When = field(default_factory=When)


@dataclass(frozen=True, kw_only=True)
class RecipeEdit:
    """`replace` may hold {cpp}, the C++ standard, and {cxx_flags}, as further list items."""

    file: str
    find: str
    replace: str
    why: str
    when: When = field(default_factory=When)


@dataclass(frozen=True, kw_only=True)
class MemoryModel:
    """GiB of the heaviest compiler, and what each further one adds as a share of that."""

    compiler_gib: float
    together: float
    base_gib: float
    source: str


@dataclass(frozen=True, kw_only=True)
class Work:
    """Time of all compilers and room for what they write."""

    cpu_seconds: float = 0.0
    cpu_seconds_per_arch: float = 0.0
    object_mib: int = 0
    object_mib_per_arch: int = 0
    source_mib: int = 100


@dataclass(frozen=True, kw_only=True)
class Release:
    """A version of the source: an sdist with its hash, or a ref of the repository."""

    version: str
    file: str | None = None
    sha256: str | None = None
    size: int | None = None
    ref: str | None = None
    steps: int | None = None
    cuda: str = ""
    subfolder: str = ""
    symlinks: bool = False  # its build makes symbolic links and fails where it may not
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that is known of building one package; the words are those of `BuildPlan`."""

    name: str
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
    work: Work
    start_first: tuple[str, ...] = ()
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
    releases: tuple[Release, ...] = ()

    def release(self, version: str) -> Release | None:
        """The release that is called so, or the newest of a series: "2.8" or "2.8.0"."""
        exact = next((r for r in self.releases if r.version == version), None)
        return exact or next((r for r in self.releases if _belongs(r.version, version)), None)


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
        UserError: there is none.
    """
    asked, name = name, canonicalize_name(name)
    if name not in names():
        raise UserError(
            f"there is no recipe {asked!r}",
            f"There are {', '.join(names())}. For anything else with CUDA sources: "
            f"tritonwin build {GENERIC} --source DIR",
        )
    file = files("tritonwin.build").joinpath("recipes", f"{name}.toml")
    return read(name, file.read_text("utf-8"))


def read(name: str, text: str) -> Recipe:
    """Build a recipe from its text.

    Raises:
        RecipeError: a field is missing, unknown or wrong.
    """
    try:
        data: dict[str, Any] = toml.loads(text)
        return Recipe(
            name=name,
            memory=MemoryModel(**data.pop("memory")),
            work=Work(**data.pop("work")),
            arch=_arch(data.pop("arch", None)),
            cxx_variable=data.pop("cxx", {}).get("variable", ""),
            variables=tuple(_with_when(RecipeVariable, r) for r in data.pop("variable", [])),
            flags=tuple(_with_when(RecipeFlag, row) for row in data.pop("flag", [])),
            edits=tuple(_with_when(RecipeEdit, row) for row in data.pop("edit", [])),
            releases=tuple(Release(**_tuples(row)) for row in data.pop("release", [])),
            **_tuples(data),
        )
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
        raise RecipeError(f"recipe {name}: {error}") from error


def _arch(row: dict[str, Any] | None) -> ArchRule | None:
    if row is None:
        return None
    rule = ArchRule(**{k: v for k, v in row.items() if k != "token"})
    tokens = tuple(_with_when(ArchToken, _tuples(token)) for token in row.get("token", []))
    return replace(rule, tokens=tokens)


def _with_when(record: Any, row: Mapping[str, Any]) -> Any:
    conditions = {"version", "torch", "cuda", "cpp", "windows"}
    return record(
        when=When(**{k: v for k, v in row.items() if k in conditions}),
        **{k: v for k, v in row.items() if k not in conditions},
    )


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}


def _belongs(version: str, to: str) -> bool:
    try:
        have, want = Version(version).release, Version(to).release
    except InvalidVersion:
        return False
    return have[: len(want)] == want

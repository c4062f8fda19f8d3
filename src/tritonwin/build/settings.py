"""From a recipe's conditions to the variables, flags and edits of one build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tritonwin.build.archs import Archs, reads_variable
from tritonwin.build.model import Decision, Edit
from tritonwin.build.recipe import Circumstances, Recipe, RecipeFlag

NVCC_FLAGS = "NVCC_APPEND_FLAGS"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the recipe asks for under the circumstances."""

    environment: dict[str, str]
    job_variables: tuple[str, ...]
    flags: tuple[str, ...]
    edits: tuple[Edit, ...]
    decisions: tuple[Decision, ...]


def choose(
    recipe: Recipe,
    on: Circumstances,
    *,
    archs: Archs | None,
    jobs: int,
    threads: int,
    local: str,
    nvcc_flags: Sequence[str] = (),
    own_source: bool,
) -> Settings:
    """Put the recipe's rows together.

    Args:
        local: the local version of the wheel.
        nvcc_flags: the user's, behind all others.
        own_source: the source is of the user, so an edit that finds nothing is no error.
    """
    rows = [row for row in recipe.variables if row.when.holds(on)]
    rows = [row for row in rows if local or "{local}" not in row.value]
    flags = [flag for flag in recipe.flags if flag.when.holds(on)]
    environment = {
        **{row.name: row.value.format(jobs=jobs, threads=threads, local=local) for row in rows},
        **_archs(recipe, on, archs),
    }
    nvcc = [*_values(flags, "nvcc"), *nvcc_flags]
    if nvcc:
        environment[NVCC_FLAGS] = " ".join([*environment.get(NVCC_FLAGS, "").split(), *nvcc])
    cxx = _values(flags, "cxx")
    if cxx and recipe.cxx_variable:
        environment[recipe.cxx_variable] = " ".join(cxx)
    return Settings(
        environment=environment,
        job_variables=tuple(row.name for row in rows if row.value == "{jobs}"),
        flags=(*(f"nvcc {value}" for value in nvcc), *(f"c++ {value}" for value in cxx)),
        edits=tuple(_edits(recipe, on, cxx, required=not own_source)),
        decisions=tuple(map(_decision, flags)),
    )


def _archs(recipe: Recipe, on: Circumstances, archs: Archs | None) -> dict[str, str]:
    rule = recipe.arch
    if rule is None or archs is None or not archs.tokens or not reads_variable(rule, on.version):
        return {}
    return {rule.variable: rule.separator.join(archs.tokens)}


def _decision(flag: RecipeFlag) -> Decision:
    option = "--nvcc-flag" if flag.compiler == "nvcc" else ""
    return Decision(name=f"{flag.compiler} flag", value=flag.value, reason=flag.why, flag=option)


def _values(flags: Iterable[RecipeFlag], compiler: str) -> list[str]:
    return [flag.value for flag in flags if flag.compiler == compiler]


def _edits(
    recipe: Recipe, on: Circumstances, cxx: Sequence[str], *, required: bool
) -> Iterable[Edit]:
    items = "".join(f', "{word}"' for value in cxx for word in value.split())
    for row in recipe.edits:
        if row.when.holds(on):
            new = row.replace.replace("{cpp}", on.cpp or "17").replace("{cxx_flags}", items)
            yield Edit(file=row.file, find=row.find, replace=new, reason=row.why, required=required)

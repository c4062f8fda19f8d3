"""A matrix of builds as the job list of a CI engine, and the index of what it made.

GitHub's `strategy.matrix` takes the list as it is; the workflow is in docs/build.md. Combinations
that the tables forbid are left out, each with its reason, before a runner spends hours on them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.build import archs, tools, wheel
from tritonwin.build.outcome import Dropped, Fleet, IndexedWheel, Job
from tritonwin.build.recipe import Recipe, load, nvcc_archs
from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.journal.tree import file_hash
from tritonwin.support.download import is_url, without_secrets
from tritonwin.support.versions import series
from tritonwin.system import toml
from tritonwin.system.codec import from_json
from tritonwin.system.files import paths_in

MOST = 256  # jobs of one matrix, GitHub's limit
_MOST_CELLS = 100_000  # before what does not go together is left out
_LONGEST = 60  # characters of a wrong value that are shown
_AXES = ("os", "python", "torch", "cuda", "archs", "version")
_WORDS = {  # what goes into the commands of a runner as it is
    "os": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}"),
    "cuda": re.compile(r"[0-9]{1,2}\.[0-9]{1,2}"),
    "python": re.compile(r"[0-9]\.[0-9]{1,2}(?:\.[0-9]{1,2})?t?"),
    "torch": re.compile(r"[0-9][A-Za-z0-9.+]{0,60}"),
    "version": re.compile(r"(?:[0-9][A-Za-z0-9.+]{0,60})?"),
}
_RUNNER = "windows-2022"
# The toolset of a runner's image; others are not known and are left to the job's own plan.
_TOOLSETS = {"windows-2022": "14.44", "windows-2025": "14.44"}


@dataclass(frozen=True, kw_only=True)
class _Cell:
    """Values that do not go together."""

    os: str | None = None
    python: str | None = None
    torch: str | None = None
    cuda: str | None = None
    archs: str | tuple[str, ...] | None = None
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Matrix:
    """A matrix file; the fields but the last are the axes."""

    os: tuple[str, ...] = (_RUNNER,)
    python: tuple[str, ...]
    torch: tuple[str, ...]
    cuda: tuple[str, ...]
    archs: tuple[str | tuple[str, ...], ...]
    version: tuple[str, ...] = ()
    exclude: tuple[_Cell, ...] = ()


def read(recipe: str, text: str) -> Fleet:
    """The jobs of a matrix file in TOML: lists under `python`, `torch`, `cuda`, `archs`, `os`,
    `version`, and tables `[[exclude]]` of values that do not go together.

    Raises:
        UserError: the file is invalid, or no job is left.
    """
    known = load(recipe)
    try:
        matrix = from_json(_Matrix, toml.loads(text), "matrix", strict=True)
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"the matrix cannot be used: {error}", _EXAMPLE) from None
    newest = known.releases[0].version if known.releases else ""
    if not matrix.version:
        matrix = replace(matrix, version=(newest,))
    axes = {axis: [_words(axis, value) for value in getattr(matrix, axis)] for axis in _AXES}
    cells = math.prod(map(len, axes.values()))
    if not 0 < cells <= _MOST_CELLS:
        raise UserError(
            f"the matrix has {cells} cells, and may have 1 to {_MOST_CELLS}", "Change its lists."
        )
    excluded = [
        {axis: _words(axis, value) for axis in _AXES if (value := getattr(cell, axis)) is not None}
        for cell in matrix.exclude
    ]
    jobs, dropped = [], []
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        if any(row.items() <= chosen.items() for row in excluded):
            continue
        why = _why_not(known, chosen)
        if why:
            dropped.append(Dropped(id=_id(known, chosen), reason=why))
        else:
            jobs.append(_job(known, chosen))
    if not jobs:
        reasons = "; ".join(f"{d.id}: {d.reason}" for d in dropped[:3])
        raise UserError(f"no job is left of this matrix. {reasons}".strip(), _EXAMPLE)
    if len(jobs) > MOST:
        raise UserError(
            f"{len(jobs)} jobs are more than the {MOST} that one matrix may have", "Split the file."
        )
    return Fleet(jobs=tuple(jobs), dropped=tuple(dropped))


_EXAMPLE = 'Write lists: python = ["3.12"], torch = ["2.9.1"], cuda = ["12.8"], archs = ["8.9"]'


def _words(axis: str, value: str | tuple[str, ...]) -> str:
    if axis == "archs":
        listed = value if isinstance(value, tuple) else value.replace(";", " ").split()
        return " ".join(map(archs.parse, listed))
    word = str(value).strip()
    if not _WORDS[axis].fullmatch(word):
        raise UserError(f"{axis}: {word[:_LONGEST]!r} cannot be used", _EXAMPLE)
    return word


def _why_not(recipe: Recipe, chosen: Mapping[str, str]) -> str:
    windows = chosen["os"].startswith("windows")
    cuda, version = chosen["cuda"], chosen["version"]
    found = archs.choose(
        recipe, version, cuda, gpus=(), asked=chosen["archs"].split(), windows=windows
    )
    if found.refusals:
        return "; ".join(refusal.message for refusal in found.refusals)
    compiler = _TOOLSETS.get(chosen["os"])
    against = tools.why_not(compiler, cuda=cuda, wants=recipe.msvc) if compiler else ""
    if against:
        return f"MSVC {compiler} of {chosen['os']}: {against}"
    return "" if nvcc_archs(cuda) else f"CUDA {cuda} is not known"


def _id(recipe: Recipe, chosen: Mapping[str, str]) -> str:
    parts = (
        recipe.name,
        chosen["version"],
        f"cp{chosen['python'].replace('.', '')}",
        f"torch{chosen['torch']}",
        f"cu{chosen['cuda'].replace('.', '')}",
        "sm" + "-".join(arch.replace(".", "") for arch in chosen["archs"].split()),
        "win" if chosen["os"].startswith("windows") else "linux",
    )
    return "-".join(part for part in parts if part)


def _job(recipe: Recipe, chosen: Mapping[str, str]) -> Job:
    words = [recipe.name, "--yes", "--anyway", "--cuda", chosen["cuda"]]
    if chosen["version"]:
        words += ["--version", chosen["version"]]
    for arch in chosen["archs"].split():
        words += ["--arch", arch]
    tag = f"cu{chosen['cuda'].replace('.', '')}"
    return Job(id=_id(recipe, chosen), torch_tag=tag, arguments=" ".join(words), **chosen)


def index(folder: Path) -> tuple[IndexedWheel, ...]:
    """Every wheel below a folder that has its build-info beside it, by that.

    Raises:
        UserError: a build-info is damaged, or belongs to another file than the one beside it.
    """
    return tuple(_indexed(folder))


def _indexed(folder: Path) -> Iterator[IndexedWheel]:
    for path in paths_in(folder, f"**/*{wheel.INFO_SUFFIX}"):
        try:
            record = wheel.read_info(path)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path} is not a build-info: {error}",
                "Build that wheel again, or take the file away.",
            ) from None
        file = path.with_name(record.wheel)
        if not file.is_file() or file_hash(file) != record.sha256:
            raise UserError(
                f"{file} is not the file that {path.name} describes",
                "Build that wheel again, or take both files away.",
            )
        yield IndexedWheel(
            url=file.relative_to(folder).as_posix(),
            sha256=record.sha256,
            size=record.size,
            torch_version=series(record.plan.torch) if record.plan.torch else None,
            cuda_version=record.plan.torch_cuda,
            archs=record.archs or record.plan.archs,
            build_info=path.relative_to(folder).as_posix(),
        )


def below(wheels: Sequence[IndexedWheel], address: str) -> tuple[IndexedWheel, ...]:
    """The index for wheels that are published flat below an address, as a release's files are.

    Raises:
        UserError: it is not an address, or holds a login or token, which would be published.
    """
    base = address.rstrip("/")
    if not is_url(base):
        raise UserError(
            f"--base-url {address} is not an address",
            "Write it with https: --base-url https://HOST/PATH",
        )
    if hide_secrets(base) != base:
        raise UserError(
            f"wheels.json is published, and --base-url holds a secret: {without_secrets(base)}",
            "Give the address by which everybody gets the wheels: --base-url URL",
        )
    return tuple(
        replace(
            one,
            url=f"{base}/{one.url.rpartition('/')[2]}",
            build_info=f"{base}/{one.build_info.rpartition('/')[2]}",
        )
        for one in wheels
    )

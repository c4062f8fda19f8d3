"""A matrix of builds as the job list of a CI engine, and the index of what it made.

GitHub's `strategy.matrix` takes the list as it is; the workflow is in docs/build.md. Combinations
that the tables forbid are left out, each with its reason, before a runner spends hours on them.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tritonwin.build import archs, tools, wheel
from tritonwin.build.outcome import Dropped, Fleet, IndexedWheel, Job, WheelIndex
from tritonwin.build.plan import Notes
from tritonwin.build.recipe import Recipe, load, toolchain
from tritonwin.errors import UserError
from tritonwin.journal.tree import file_hash
from tritonwin.support.versions import series
from tritonwin.system import toml
from tritonwin.system.codec import from_json, to_json
from tritonwin.system.files import paths_in, refuse_foreign, write_text

INDEX = "wheels.json"
_MOST = 256  # jobs of one matrix, GitHub's limit
_MOST_CELLS = 100_000  # before what does not go together is left out
_LONGEST = 60  # characters of a wrong value that are shown
_AXES = {  # the form of a value, which goes into the commands of a runner as it is
    "python": r"[0-9]\.[0-9]{1,2}(?:\.[0-9]{1,2})?t?",
    "torch": r"[0-9][A-Za-z0-9.+]{0,60}",
    "cuda": r"[0-9]{1,2}\.[0-9]{1,2}",
    "archs": r"[0-9af. ]{2,60}",
}
_RUNNER, _TOOLSET = "windows-2022", "14.44"  # an image of GitHub's, and the MSVC in it
_EXAMPLE = 'Write lists: python = ["3.12"], torch = ["2.9.1"], cuda = ["12.8"], archs = ["8.9"]'


@dataclass(frozen=True, kw_only=True)
class _Matrix:
    """A matrix file: its axes."""

    python: tuple[str, ...]
    torch: tuple[str, ...]
    cuda: tuple[str, ...]
    archs: tuple[str, ...]


def read(recipe: str, text: str) -> Fleet:
    """The jobs of a matrix file in TOML: lists under `python`, `torch`, `cuda`, `archs`.

    Each builds the newest version that the recipe knows.

    Raises:
        UserError: the file is invalid, or no job is left.
    """
    known = load(recipe)
    try:
        matrix = from_json(_Matrix, toml.loads(text), "matrix", strict=True)
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"the matrix cannot be used: {error}", _EXAMPLE) from None
    axes = {axis: [_checked(axis, value) for value in getattr(matrix, axis)] for axis in _AXES}
    cells = math.prod(map(len, axes.values()))
    if not 0 < cells <= _MOST_CELLS:
        raise UserError(
            f"the matrix has {cells} cells, and may have 1 to {_MOST_CELLS}", "Change its lists."
        )
    jobs, dropped = [], []
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        job = _job(known, chosen)
        if why := _why_not(known, job):
            dropped.append(Dropped(id=job.id, reason=why))
        else:
            jobs.append(job)
    if not jobs:
        reasons = "; ".join(f"{d.id}: {d.reason}" for d in dropped[:3])
        raise UserError(f"no job is left of this matrix. {reasons}".strip(), _EXAMPLE)
    if len(jobs) > _MOST:
        raise UserError(
            f"{len(jobs)} jobs are more than the {_MOST} that one matrix may have",
            "Split the file.",
        )
    return Fleet(include=tuple(jobs), dropped=tuple(dropped))


def _checked(axis: str, value: str) -> str:
    if not re.fullmatch(_AXES[axis], value):
        raise UserError(f"{axis}: {value[:_LONGEST]!r} cannot be used", _EXAMPLE)
    return " ".join(map(archs.parse, value.split())) if axis == "archs" else value


def _why_not(recipe: Recipe, job: Job) -> str:
    notes, cuda = Notes(), job.cuda
    asked = job.archs.split()
    archs.choose(recipe, job.version, cuda, notes, gpus=(), asked=asked, windows=True)
    if notes.refusals:
        return "; ".join(refusal.message for refusal in notes.refusals)
    if against := tools.why_not(_TOOLSET, cuda=cuda, wants=recipe.msvc):
        return f"MSVC {_TOOLSET} of {_RUNNER}: {against}"
    return "" if toolchain("nvcc", cuda) else f"CUDA {cuda} is not known"


def _job(recipe: Recipe, chosen: Mapping[str, str]) -> Job:
    version = recipe.releases[0].version if recipe.releases else ""
    tag = f"cu{chosen['cuda'].replace('.', '')}"
    parts = (
        recipe.name,
        version,
        f"cp{chosen['python'].replace('.', '')}",
        f"torch{chosen['torch']}",
        tag,
        "sm" + chosen["archs"].replace(".", "").replace(" ", "-"),
    )
    words = [recipe.name, "--yes", "--anyway", "--cuda", chosen["cuda"]]
    if version:
        words += ["--version", version]
    for arch in chosen["archs"].split():
        words += ["--arch", arch]
    return Job(
        id="-".join(filter(None, parts)),
        os=_RUNNER,
        torch_tag=tag,
        version=version,
        arguments=" ".join(words),
        **chosen,
    )


# --- the index


def write_index(folder: Path) -> WheelIndex:
    """Write `wheels.json`: every wheel below a folder that has its build-info beside it.

    Raises:
        UserError: a build-info is damaged, or belongs to another file than the one beside it; or
            the index cannot be written, or is a file that `build` did not write.
    """
    file = folder / INDEX
    refuse_foreign(file, f'"schema": "{WheelIndex.schema}"')
    made = WheelIndex(wheels=tuple(_indexed(folder)))
    write_text(file, json.dumps(to_json(made), indent=2) + "\n")
    return made


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
            archs=(record.proof and record.proof.archs) or record.plan.archs,
            build_info=path.relative_to(folder).as_posix(),
        )

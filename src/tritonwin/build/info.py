"""What a wheel was made from, written beside it, so that it can be made again and trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tritonwin import __version__
from tritonwin.build import source
from tritonwin.build.model import BuildPlan
from tritonwin.build.outcome import BuildInfo
from tritonwin.build.proof import WheelProof
from tritonwin.build.state import State
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.journal.tree import file_hash
from tritonwin.system.codec import from_json, parse, to_json
from tritonwin.system.files import write_whole

SUFFIX = ".build-info.json"


def describe(
    plan: BuildPlan,
    wheel: Path,
    state: State,
    installed: Mapping[str, str],
    proof: WheelProof | None = None,
) -> BuildInfo:
    """Put the record of a wheel together.

    Args:
        installed: normalised names and versions of what the build environment sees.
    """
    cpu = [run.cpu_seconds for run in state.runs]
    return BuildInfo(
        wheel=wheel.name,
        sha256=file_hash(wheel),
        size=wheel.stat().st_size,
        plan=plan,
        inputs=_inputs(plan),
        versions=_versions(plan, installed),
        jobs=tuple(run.jobs for run in state.runs),
        wall_seconds=round(sum(run.seconds for run in state.runs), 1),
        cpu_seconds=round(sum(c for c in cpu if c), 1) if any(cpu) else None,
        peak_memory=max((run.peak_memory for run in state.runs), default=None),
        archs=proof.archs if proof else (),
        proof=proof.in_short() if proof else {},
    )


def _inputs(plan: BuildPlan) -> dict[str, str]:
    """Everything that came from elsewhere, by its hash."""
    parts = (*(plan.cuda.parts if plan.cuda else ()), *plan.downloads)
    found = {part.file: part.sha256 for part in parts}
    if plan.source.sha256:
        found[Path(plan.source.location).name] = plan.source.sha256
    if commit := source.commit(plan):
        found[plan.source.location] = commit
    return found


def _versions(plan: BuildPlan, installed: Mapping[str, str]) -> dict[str, str]:
    names = {"torch", "setuptools", "wheel", "ninja", "triton", "triton-windows", "cmake"}
    found = {name: version for name, version in sorted(installed.items()) if name in names}
    found |= {"tritonwin": __version__, "python": plan.python}
    if plan.cuda:
        found["cuda"] = plan.cuda.version
    if plan.toolset:
        found[plan.toolset.product] = plan.toolset.version
    return found


def write(info: BuildInfo, folder: Path, redactor: Redactor) -> Path:
    """Store the record beside the wheel, with which it is published: redacted. Its path."""
    path = folder / (info.wheel + SUFFIX)
    public = to_json(redactor.record(info))
    write_whole(path, (json.dumps(public, indent=2) + "\n").encode())
    return path


def read(path: Path) -> BuildInfo:
    """Raises OSError, or ValueError where the file holds no such record."""
    return from_json(BuildInfo, parse(path.read_text("utf-8")))

"""A built wheel: its local version, its proof, and the record beside it.

The proof: it is installed where nothing can be broken, imported, its machine code held against the
GPU, handed to the chooser that `fix` and `install` ask, and on a GPU its rungs of the proof ladder
are climbed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.version import Version

from tritonwin import __version__
from tritonwin.build import source, venv
from tritonwin.build.records import (
    BuildInfo,
    BuildPlan,
    BuildRun,
    OnEvent,
    ProofStep,
    StepState,
    WheelProof,
)
from tritonwin.errors import UserError
from tritonwin.facts.collect import collect
from tritonwin.facts.dlls.gpu_code import Code, gpu_code
from tritonwin.facts.records import Facts
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.facts.target import import_error
from tritonwin.journal.disk import discard
from tritonwin.journal.tree import file_hash
from tritonwin.support import wheels
from tritonwin.support.archives import DAMAGE
from tritonwin.support.chooser import choose
from tritonwin.support.fitting import needs_of
from tritonwin.support.links import WheelLink
from tritonwin.support.pip import Pip, PipError, last_words
from tritonwin.system.codec import to_json
from tritonwin.system.files import paths_in, replace_whole
from tritonwin.verify import ladder
from tritonwin.verify.records import RungResult
from tritonwin.verify.setting import setting_for

INFO_SUFFIX = ".build-info.json"
# the distributions of the build environment whose versions are stored
_NAMED = frozenset({"torch", "setuptools", "wheel", "ninja", "triton", "triton-windows", "cmake"})
_INSTALL_TIMEOUT = 600.0
_IMPORT_TIMEOUT = 300.0  # seconds; the first import of torch reads gigabytes


def tagged(wheel: Path, local: str) -> Path:
    """The wheel under its new name; itself where it has a local version, or gets none.

    Metadata, the folder of the metadata and RECORD follow; every other file, and its time, stays
    byte for byte. The old wheel is removed when the new one is there.

    Raises:
        UserError: its name is not that of a wheel, or it cannot be read or written.
    """
    try:
        name = wheels.read(wheel.name)
        if name.version.local or not local:
            return wheel
        project, old, rest = wheel.name.split("-", 2)
        new = str(Version(f"{old}+{local}"))
        to = wheel.with_name(f"{project}-{new}-{rest}")
        part = to.with_suffix(".part")
        with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(part, "w") as target:
            record = next(n for n in source.namelist() if n.endswith(".dist-info/RECORD"))
            before = record.removesuffix(".dist-info/RECORD")
            _copy(source, target, (before, f"{before.split('-')[0]}-{new}"), new)
        part.replace(to)
        wheel.unlink()
    except (OSError, StopIteration, *DAMAGE) as error:
        raise UserError(
            f"{wheel} cannot be used: {str(error) or 'it has no RECORD'}",
            "The source's own build made it so; look at the log beside that folder.",
        ) from error
    return to


def _copy(
    source: zipfile.ZipFile, target: zipfile.ZipFile, folders: tuple[str, str], version: str
) -> None:
    """Copy the members: `NAME-OLD.dist-info` and `NAME-OLD.data` become `NAME-NEW...`."""
    old, new = folders
    record, last = "", f"{new}.dist-info/RECORD"
    # RECORD, which lists the others, comes last
    for member in sorted(source.infolist(), key=lambda m: m.filename == f"{old}.dist-info/RECORD"):
        content = source.read(member)
        moved = member.filename.startswith((f"{old}.dist-info/", f"{old}.data/"))
        name = new + member.filename[len(old) :] if moved else member.filename
        if name == f"{new}.dist-info/METADATA":
            # the first is in the head; the description may hold others
            now = f"Version: {version}".encode()
            content = re.sub(rb"(?m)^Version:[^\r\n]*", now, content, count=1)
        if name == last:
            content = f"{record}{last},,\n".encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
        info = zipfile.ZipInfo(name, member.date_time)
        info.external_attr = member.external_attr
        info.compress_type = zipfile.ZIP_DEFLATED
        target.writestr(info, content)


# --- the record beside it


def describe(
    plan: BuildPlan,
    wheel: Path,
    runs: tuple[BuildRun, ...],
    installed: Mapping[str, str],
    proof: WheelProof | None = None,
) -> BuildInfo:
    """Put the record of a wheel together.

    Args:
        installed: normalised names and versions of what the build environment sees.
    """
    inputs = {part.file: part.sha256 or "" for part in (plan.cuda.parts if plan.cuda else ())}
    if plan.source.sha256:
        inputs[Path(plan.source.location).name] = plan.source.sha256
    if commit := source.commit(plan):
        inputs[plan.source.location] = commit
    versions = {name: version for name, version in sorted(installed.items()) if name in _NAMED}
    versions |= {"tritonwin": __version__, "python": plan.python}
    if plan.cuda:
        versions["cuda"] = plan.cuda.version
    if plan.toolset and plan.toolset.version:
        versions[plan.toolset.product] = plan.toolset.version
    return BuildInfo(
        wheel=wheel.name,
        sha256=file_hash(wheel),
        size=wheel.stat().st_size,
        plan=plan,
        inputs=inputs,
        versions=versions,
        runs=runs,
        proof=proof,
    )


def write_info(info: BuildInfo, folder: Path, redactor: Redactor) -> Path:
    """Store the record beside the wheel, with which it is published: redacted. Its path."""
    path = folder / (info.wheel + INFO_SUFFIX)
    public = to_json(redactor.record(info))
    replace_whole(path, (json.dumps(public, indent=2) + "\n").encode())
    return path


# --- the proof: in an environment of its own beside the target, where nothing can be broken


def prove(
    plan: BuildPlan, wheel: Path, pip: Pip, *, on_event: OnEvent = lambda _: None
) -> WheelProof:
    """Show what can be shown of the wheel on this machine. The target stays as it is.

    Raises:
        PipError: the wheel cannot be installed at all.
    """
    on_event(f"proof: {wheel.name}")
    place = plan.layout.proof
    discard(place)
    site_packages, python = venv.make(plan.target, place, plan.runtime), venv.python_of(place)
    arguments = ("--python", python, "install", "--quiet", "--no-deps", "--no-index")
    done = pip.run([*arguments, "--", str(wheel)], timeout=_INSTALL_TIMEOUT)
    if done.code != 0:
        raise PipError(
            f"{wheel.name} cannot be installed: {last_words(done)}", f"The wheel is kept: {wheel}"
        )
    facts = collect(python=python, timeout=_IMPORT_TIMEOUT)
    code = _code(plan, site_packages)
    steps = (
        *_imports(plan, plan.imports or _modules(wheel), python),
        *_code_steps(plan, code, facts),
        _chosen(wheel, facts),
    )
    rungs = tuple(_climb(plan, facts, on_event)) if all(s.state != "failed" for s in steps) else ()
    return WheelProof(steps=steps, archs=tuple(str(c) for c in code), rungs=rungs)


def _modules(wheel: Path) -> tuple[str, ...]:
    """The compiled modules of a wheel, as they are imported."""
    with zipfile.ZipFile(wheel) as files:
        compiled = [n for n in files.namelist() if n.endswith((".so", ".pyd"))]
    paths = (PurePosixPath(name) for name in compiled if ".data/" not in name)
    return tuple(".".join((*p.parent.parts, p.name.partition(".")[0])) for p in paths)


def _imports(plan: BuildPlan, modules: Iterable[str], python: str) -> Iterator[ProofStep]:
    # a module with CUDA code wants torch's libraries loaded before it
    first = "import torch; " if plan.torch else ""
    for module in modules:
        started = time.perf_counter()
        error = import_error(python, module, _IMPORT_TIMEOUT, first)
        yield ProofStep(
            name=f"import {module}",
            state="failed" if error else "passed",
            detail=error or f"{time.perf_counter() - started:.1f} s",
        )


def _code(plan: BuildPlan, root: Path) -> tuple[Code, ...]:
    """The GPU code in the wheel's own modules; the pattern is of their places."""
    found = set[Code]()
    for path in paths_in(root, "**/*"):
        place = path.relative_to(root).as_posix()
        if place.endswith((".so", ".pyd")) and fnmatchcase(place, plan.extension or "*"):
            found.update(gpu_code(path))
    return tuple(sorted(found))


def _code_steps(plan: BuildPlan, code: Sequence[Code], facts: Facts) -> Iterator[ProofStep]:
    """Compare the GPU code with the plan, and with every NVIDIA GPU: a wheel may be for another."""
    held = {str(each) for each in code}
    missing = [arch for arch in plan.archs if arch not in held]
    state: StepState = "failed" if missing else "passed"
    detail = f"holds {', '.join(sorted(held)) or 'no GPU code'}"
    if missing:
        detail += f", but {', '.join(missing)} was planned"
    if not plan.archs or plan.cuda is None:
        state, detail = "not-applicable", "no CUDA code is built"
    yield ProofStep(name="architectures", state=state, detail=detail)
    for gpu in facts.nvidia_gpus if code else ():
        if gpu.compute_capability is None:
            continue
        served = any(c.serves(int(gpu.compute_capability.replace(".", ""))) for c in code)
        yield ProofStep(
            name=f"{gpu.name} ({gpu.compute_capability})",
            state="passed" if served else "not-applicable",
            detail="has code for it" if served else "no code for this GPU: made for another one",
        )


def _chosen(wheel: Path, facts: Facts) -> ProofStep:
    """Ask the chooser whether it takes the wheel for this target."""
    link = WheelLink(location=str(wheel), source="this build")
    chosen = choose(Requirement(link.name.distribution), [link], needs_of(facts))
    if chosen.link is not None:
        return ProofStep(name="chooser", state="passed", detail="install and fix would take it")
    return ProofStep(name="chooser", state="failed", detail="; ".join(chosen.choice.in_short()))


def _climb(plan: BuildPlan, facts: Facts, on_event: OnEvent) -> Iterator[RungResult]:
    rungs = [rung for rung in ladder.RUNGS if rung.id in plan.rungs]
    if not rungs or not any(gpu.vendor == "nvidia" for gpu in facts.gpus):
        return
    setting = setting_for(facts, dict(os.environ), timeout=600)
    for result in ladder.climb(setting, rungs):
        on_event(f"{result.id}: {result.state}. {result.detail}")
        yield result

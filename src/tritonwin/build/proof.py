"""Prove a wheel where nothing can be broken: in an environment of its own beside the target.

It is installed there, imported, its machine code held against the GPU, handed to the chooser that
`fix` and `install` ask, and on a GPU its rungs of the proof ladder are climbed.
"""

from __future__ import annotations

import os
import shutil
import time
import zipfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement

from tritonwin.build import venv
from tritonwin.build.outcome import OnEvent, ProofStep, WheelProof
from tritonwin.build.plan import BuildPlan
from tritonwin.build.venv import Linked
from tritonwin.facts.collect import collect
from tritonwin.facts.dlls.gpu_code import Code, gpu_code
from tritonwin.facts.records import Facts
from tritonwin.support.chooser import choose
from tritonwin.support.fitting import needs_of
from tritonwin.support.links import WheelLink
from tritonwin.support.pip import Pip, PipError, last_words
from tritonwin.system.process import run
from tritonwin.system.scratch import scratch_folder
from tritonwin.verify import ladder
from tritonwin.verify.records import RungResult
from tritonwin.verify.setting import setting_for

_INSTALL_TIMEOUT = 600.0
_IMPORT_TIMEOUT = 300.0  # seconds; the first import of torch reads gigabytes


def prove(
    plan: BuildPlan, wheel: Path, pip: Pip, *, on_event: OnEvent = lambda _: None
) -> WheelProof:
    """Show what can be shown of the wheel on this machine. The target stays as it is.

    Raises:
        PipError: the wheel cannot be installed at all.
    """
    on_event(f"proof: {wheel.name}")
    place = plan.layout.proof
    shutil.rmtree(place, ignore_errors=True)
    copy = venv.make(plan.target, place, plan.runtime)
    _install(copy, wheel, pip)
    facts = collect(python=copy.python, timeout=_IMPORT_TIMEOUT)
    code = _code(plan, copy.site_packages)
    steps = (
        *_imports(plan, plan.imports or _modules(wheel), copy),
        _architectures(plan, code),
        *_gpus(code, facts),
        _chosen(wheel, facts),
    )
    rungs = tuple(_climb(plan, facts, on_event)) if all(s.state != "failed" for s in steps) else ()
    return WheelProof(steps=steps, archs=tuple(str(c) for c in code), rungs=rungs)


def _install(copy: Linked, wheel: Path, pip: Pip) -> None:
    arguments = ("--python", copy.python, "install", "--quiet", "--no-deps", "--no-index")
    done = pip.run([*arguments, "--", str(wheel)], timeout=_INSTALL_TIMEOUT)
    if done.code != 0:
        raise PipError(
            f"{wheel.name} cannot be installed: {last_words(done)}", f"The wheel is kept: {wheel}"
        )


def _modules(wheel: Path) -> tuple[str, ...]:
    """The compiled modules of a wheel, as they are imported."""
    with zipfile.ZipFile(wheel) as files:
        compiled = [n for n in files.namelist() if n.endswith((".so", ".pyd"))]
    paths = (PurePosixPath(name) for name in compiled if ".data/" not in name)
    return tuple(".".join((*p.parent.parts, p.name.partition(".")[0])) for p in paths)


def _imports(plan: BuildPlan, modules: Iterable[str], copy: Linked) -> Iterator[ProofStep]:
    # a module with CUDA code wants torch's libraries loaded before it
    first = "import torch; " if plan.torch else ""
    with scratch_folder() as empty:
        for module in modules:
            program = ("-B", "-c", f"{first}import {module}")
            started = time.perf_counter()
            done = run(copy.python, program, timeout=_IMPORT_TIMEOUT, cwd=empty)
            seconds = f"{time.perf_counter() - started:.1f} s"
            said = done.err.decode("utf-8", "replace").strip().splitlines()
            why = ": ".join([done.ending(), *said[-1:]])
            passed = done.code == 0
            yield ProofStep(
                name=f"import {module}",
                state="passed" if passed else "failed",
                detail=seconds if passed else why,
            )


def _code(plan: BuildPlan, site_packages: str) -> tuple[Code, ...]:
    """The GPU code in the wheel's own modules; the pattern is of their names."""
    found: set[Code] = set()
    for folder, _, names in os.walk(site_packages):
        for name in names:
            if name.endswith((".so", ".pyd")) and fnmatchcase(name, plan.extension or "*"):
                found.update(gpu_code(Path(folder, name)))
    return tuple(sorted(found))


def _architectures(plan: BuildPlan, code: Iterable[Code]) -> ProofStep:
    """Compare the binary with the planned architectures."""
    held = {str(c) for c in code}
    if not plan.archs or plan.cuda is None:
        return ProofStep(
            name="architectures", state="not-applicable", detail="no CUDA code is built"
        )
    missing = [arch for arch in plan.archs if arch not in held]
    words = f"holds {', '.join(sorted(held)) or 'no GPU code'}"
    if missing:
        return ProofStep(name="architectures", state="failed",
                    detail=f"{words}, but {', '.join(missing)} was planned")  # fmt: skip
    return ProofStep(name="architectures", state="passed", detail=words)


def _gpus(code: Iterable[Code], facts: Facts) -> Iterator[ProofStep]:
    """Try the code against every NVIDIA GPU of this machine; a wheel may be for another one."""
    held = tuple(code)
    for gpu in facts.gpus:
        if gpu.vendor != "nvidia" or gpu.compute_capability is None or not held:
            continue
        served = any(c.serves(int(gpu.compute_capability.replace(".", ""))) for c in held)
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

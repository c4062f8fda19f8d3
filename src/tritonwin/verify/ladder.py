"""The proof ladder: programs that the target runs, from the ground up, each a process of its own.

A rung's program is a file of `rungs/`, copied into an empty folder and started there, so that
nothing of the current folder or of tritonwin is on its path. Triton's caches lie in that folder
too: what is shown was really built, and the user's caches stay as they are.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tritonwin.facts.model import Facts
from tritonwin.facts.process import Completed, run
from tritonwin.facts.target import parse_answer
from tritonwin.verify.model import Proof, Rung, RungResult

RUNGS = (
    Rung(id="headers-and-library", title="a C module is compiled and imported"),
    Rung(id="import-triton", title="Triton is imported"),
    Rung(id="compile-cubin", title="a kernel is compiled to a cubin", needs=("import-triton",)),
    Rung(
        id="helper-module",
        title="Triton's helper module is built and loaded",
        needs=("headers-and-library", "import-triton"),
    ),
)
DEFAULT_ARCH = 80  # where there is no GPU: every CUDA and every Triton of today knows Ampere
_TAIL = 1000  # characters of a crashed program's output


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What rungs are run in and with.

    Attributes:
        compiler: a C compiler that takes gcc's options; None: there is none that we can drive.
        arch: compute capability without its dot: 89.
        driver: whether an NVIDIA driver is there, which the helper module is linked with.
        timeout: seconds for each rung.
    """

    python: str
    environment: Mapping[str, str]
    compiler: str | None
    arch: int
    driver: bool
    timeout: float = 300


def setting(
    facts: Facts, environment: Mapping[str, str], *, arch: int | None = None, timeout: float = 300
) -> Setting:
    """The setting that the facts suggest: the GPU's architecture, Triton's own compiler.

    Raises:
        ValueError: the facts name no target.
    """
    if facts.target is None:
        msg = "no target interpreter"
        raise ValueError(msg)
    gpu = next((g for g in facts.gpus if g.vendor == "nvidia" and g.compute_capability), None)
    found = int((gpu.compute_capability or "").replace(".", "")) if gpu else DEFAULT_ARCH
    return Setting(
        python=facts.target.executable,
        environment=environment,
        compiler=_compiler(facts),
        arch=arch or found,
        driver=any(d.vendor == "nvidia" and d.error is None for d in facts.drivers),
        timeout=timeout,
    )


def _compiler(facts: Facts) -> str | None:
    if facts.triton and facts.triton.tinycc:
        return facts.triton.tinycc
    named = (c.path for c in facts.compilers if c.family in {"gcc", "clang"} and c.flaw is None)
    return next(named, None)


def climb(setting: Setting, through: str | None = None) -> Iterator[RungResult]:
    """Try the rungs, up to and with `through`; each result in its order, as soon as it is there.

    Two run side by side where they do not need each other.
    """
    last = next((n for n, rung in enumerate(RUNGS) if rung.id == through), len(RUNGS) - 1)
    tried: dict[str, Future[RungResult]] = {}
    with ThreadPoolExecutor(max_workers=2) as pool:
        for rung in RUNGS[: last + 1]:
            # what a rung needs was handed in before it, so that waiting for it cannot block
            needed = [tried[name] for name in rung.needs]
            tried[rung.id] = pool.submit(_climb, rung, setting, needed)
        for result in tried.values():
            yield result.result()


def _climb(rung: Rung, setting: Setting, needed: Sequence[Future[RungResult]]) -> RungResult:
    lacking = [r.id for r in (future.result() for future in needed) if r.state != "passed"]
    reason = f"needs {', '.join(lacking)}" if lacking else _obstacle(rung, setting)
    return _skipped(rung, reason) if reason else _try(rung, setting)


def prove(setting: Setting, through: str | None = None) -> Proof:
    return Proof(results=tuple(climb(setting, through)))


def _obstacle(rung: Rung, setting: Setting) -> str | None:
    if rung.id == "headers-and-library" and setting.compiler is None:
        return "no TinyCC, gcc or clang was found to try it with"
    if rung.id == "helper-module" and not setting.driver:
        return "no NVIDIA driver is here, which the module is linked with"
    return None


def _skipped(rung: Rung, reason: str) -> RungResult:
    return RungResult(id=rung.id, title=rung.title, state="skipped", detail=reason, seconds=0.0)


def _try(rung: Rung, setting: Setting) -> RungResult:
    started = time.perf_counter()
    cookie = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="tw", ignore_cleanup_errors=True) as folder:
        done = _run(rung, setting, cookie, Path(folder))
    seconds = round(time.perf_counter() - started, 2)
    answer = parse_answer(done.out, cookie) or _no_answer(done, setting.timeout)
    return RungResult(
        id=rung.id,
        title=rung.title,
        state=answer["state"],
        detail=answer["detail"],
        seconds=seconds,
        traceback=answer.get("traceback"),
    )


def _run(rung: Rung, setting: Setting, cookie: str, folder: Path) -> Completed:
    programs = files("tritonwin.verify.rungs")
    names = ("frame.py", rung.id.replace("-", "_") + ".py")
    for name in names:
        (folder / name).write_bytes(programs.joinpath(name).read_bytes())
    arguments = {
        "arch": setting.arch,
        "compiler": setting.compiler,
        "scratch": str(folder),
    }
    caches = {
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "TRITON_HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    # the current folder is the scratch folder: Python would import from the user's
    return run(
        setting.python,
        ("-B", str(folder / names[0]), cookie, str(folder / names[1]), json.dumps(arguments)),
        timeout=setting.timeout,
        env={**setting.environment, **caches},
        cwd=folder,
    )


def _no_answer(done: Completed, timeout: float) -> dict[str, Any]:
    if done.timed_out:
        return {"state": "failed", "detail": f"no end within {timeout:g} s"}
    said = done.err.decode("utf-8", "replace").strip()[-_TAIL:]
    return {"state": "failed", "detail": f"the process ended with {done.ending()}. {said}".strip()}

"""The proof ladder: programs that the target runs, from the ground up, each a process of its own.

A rung's program is a file of `rungs/`, copied into an empty folder and started there, so that
nothing of the current folder or of tritonwin is on its path. The caches of Triton and of inductor
lie in that folder too: what is shown was really built, and the user's caches stay as they are.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from importlib.resources import files
from pathlib import Path
from typing import Any

from tritonwin.system.process import Completed, parse_answer, run
from tritonwin.system.scratch import scratch_folder
from tritonwin.system.waiting import waiting_threads
from tritonwin.system.winapi import in_ascii
from tritonwin.verify.causes import dll_hints, name_problems
from tritonwin.verify.records import ABSENT, BROKEN, Proof, Rung, RungResult, RungState, load
from tritonwin.verify.setting import ProofSetting, obstacle

RUNGS = load().rung
BASIC = tuple(rung for rung in RUNGS if rung.basic and not rung.of_amd)
# can be tried before the facts are there: whether it passes rests on none but the program and its
# variables
AHEAD = tuple(rung for rung in BASIC if rung.id == "import-triton")
_PROGRAMS = files("tritonwin.verify.rungs")
_RUNNER = "probe_runner.py"
_TAIL = 1000  # characters of a crashed program's output that are shown
_HEARD = 200_000  # characters of a program's output that are explained


def climb(
    setting: ProofSetting, rungs: Sequence[Rung] = BASIC
) -> Generator[RungResult, None, None]:
    """Try the rungs; each result in its order, as soon as it is there.

    Some run side by side where they do not need each other. Of what a rung needs, only what is
    among `rungs` is waited for. Closing the generator ends the programs that run.
    """
    tried: dict[str, Future[RungResult]] = {}
    unneeded = {r.id for r in rungs if r.compiles and setting.driver_in_python}
    with waiting_threads(most=setting.workers) as threads:
        for rung in rungs:
            # what a rung needs was handed in before it, so that waiting for it cannot block
            needed = [tried[n] for n in rung.needs if n in tried and n not in unneeded]
            tried[rung.id] = threads.submit(_climb, rung, setting, needed)
        for result in tried.values():
            yield threads.result(result)


def basic(setting: ProofSetting) -> tuple[Rung, ...]:
    """The few that `fix` tries: beside an AMD card, those of its backend as well."""
    return tuple(rung for rung in RUNGS if rung.basic and (setting.chip or not rung.of_amd))


def prove(setting: ProofSetting, rungs: Sequence[Rung] = BASIC) -> Proof:
    return Proof(results=tuple(climb(setting, rungs)))


def _climb(rung: Rung, setting: ProofSetting, needed: Sequence[Future[RungResult]]) -> RungResult:
    known = next((result for result in setting.known if result.id == rung.id), None)
    if known is not None:
        return known
    results = [future.result() for future in needed]
    # what this machine cannot do says more than what failed before
    if found := None if setting.forced else obstacle(rung, setting):
        return _untried(rung, *found)
    lacking = [r for r in results if r.state != "passed"]
    if lacking:
        absent = all(r.state in ABSENT for r in lacking)
        names = ", ".join(r.id for r in lacking)
        return _untried(rung, "not-applicable" if absent else "skipped", f"needs {names}")
    return _try(rung, setting)


def _untried(rung: Rung, state: RungState, reason: str) -> RungResult:
    return RungResult(
        id=rung.id, title=rung.title, state=state, detail=reason, seconds=0.0, proves=rung.proves
    )


def _try(rung: Rung, setting: ProofSetting) -> RungResult:
    started = time.perf_counter()
    cookie = secrets.token_hex(16)
    limit = setting.timeout or rung.limit
    cannot = "the folder for temporary files cannot be written"
    try:
        with scratch_folder() as made:
            # Triton's caches are in it, and it reads no other letters from variables
            folder = Path(in_ascii(made) or made)
            for name in (_RUNNER, rung.program, *rung.helpers):
                (folder / name).write_bytes(_PROGRAMS.joinpath(name).read_bytes())
            cannot = f"{setting.python} cannot be started"
            done = _run(rung, setting, cookie, folder, limit)
    except OSError as error:
        return _untried(rung, "failed", f"{cannot}: {error.strerror or error}")
    seconds = round(time.perf_counter() - started, 2)
    answer = parse_answer(done.out, cookie) or _no_answer(done, limit)
    problems: tuple[str, ...] = ()
    if answer["state"] in BROKEN:
        said = _said(done, answer)
        known = (answer["problem"],) if answer.get("problem") else ()
        problems = tuple(dict.fromkeys((*known, *name_problems(rung, said, setting.facts))))
        answer["detail"] = "; ".join((answer["detail"], *dll_hints(rung, said, setting.facts)))
    return RungResult(
        id=rung.id,
        title=rung.title,
        state=answer["state"],
        detail=answer["detail"],
        seconds=seconds,
        traceback=answer.get("traceback"),
        proves=rung.proves,
        problems=problems,
        figures=answer.get("figures") or {},
    )


def _run(rung: Rung, setting: ProofSetting, cookie: str, folder: Path, limit: float) -> Completed:
    arguments = {
        "arch": setting.arch,
        "chip": setting.chip,
        "compiler": setting.compiler,
        "driver": setting.driver,
        "scratch": str(folder),
        "user_cache": setting.user_cache,
        **rung.options,
    }
    own = {
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "TRITON_HOME": str(folder),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        # for a handful of kernels, inductor's workers cost more than they save
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
    }
    words = (str(folder / _RUNNER), cookie, str(folder / rung.program), rung.part)
    # the current folder is the scratch folder: Python would import from the user's
    return run(
        setting.python,
        # a crash then names the lines that led to it; an embedded Python reads no PYTHON variables
        ("-B", "-X", "faulthandler", *words, json.dumps(arguments), "watched"),
        timeout=limit,
        stdin=None,  # the frame ends the rung when we are killed: its window was closed
        env={**setting.environment, **own},
        cwd=folder,
    )


def _no_answer(done: Completed, limit: float) -> dict[str, Any]:
    if done.timed_out:
        return {"state": "timed-out", "detail": f"no end within {limit:g} s"}
    said = done.err.decode("utf-8", "replace").strip()[-_TAIL:]
    return {"state": "crashed", "detail": f"the process ended with {done.ending()}. {said}".strip()}


def _said(done: Completed, answer: dict[str, Any]) -> str:
    """Everything that the program said, as a log would hold it."""
    streams = (stream.decode("utf-8", "replace")[-_HEARD:] for stream in (done.out, done.err))
    return "\n".join((*streams, answer.get("traceback") or "", answer["detail"]))

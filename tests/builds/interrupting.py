"""Interrupt a build again and again, in all the ways in which builds end, and resume it."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pace import PATIENCE, wait_for
from world import HERE, World

from tritonwin.build import runner, session
from tritonwin.build.records import BuildPlan

# Ctrl-C; what a window manager or a time limit sends; a crash; a crash that takes the keeper along
WAYS = ("SIGINT", "SIGTERM", "SIGKILL", "all")
_LATE = 8  # compilers that may still be started before the end of a build is noticed


@dataclass
class Interruptions:
    """The number of runs, the last one included, and the command lines that were still alive
    a moment after their build had ended."""

    runs: int = 0
    survivors: list[str] = field(default_factory=list)


def interrupt(
    world: World, plan: BuildPlan, *, times: int, until: int, longest: float, seed: int
) -> Interruptions:
    """Begin the build and interrupt it `times` times, then let it come to its end.

    Half of the interruptions are spread over the first `until` files that are compiled, whatever
    the machine's pace; the others are at the beginnings of runs. Each comes up to `longest` seconds
    later.
    """
    chance = random.Random(seed)
    Path(plan.root).mkdir(parents=True)
    runner.store(plan.layout.plan, plan)
    seen = Interruptions()
    while True:
        process = _start(world, resume=seen.runs > 0)
        seen.runs += 1
        if seen.runs > times:
            assert process.wait(600) == 0, max(plan.layout.root.glob("build-*.log")).read_text()[
                -3000:
            ]
            return seen
        share = (seen.runs - 1 + chance.random()) / times
        _wait_for_files(world, process, chance.choice((0, int(share * until))))
        time.sleep(chance.uniform(0, longest))
        if process.poll() is not None:
            return seen  # it was finished sooner; the caller asks how often it was interrupted
        begun = world.compiled("start").total()
        _end(process, chance.choice(WAYS))
        process.wait(PATIENCE)
        seen.survivors += _alive(plan.root)
        if world.compiled("start").total() > begun + _LATE:
            seen.survivors.append("what started compilers until there were none left to start")
        _note_finished(world, plan)


def _wait_for_files(world: World, process: subprocess.Popen[bytes], number: int) -> None:
    """Until so many files are compiled, or the build has ended."""
    wait_for(lambda: world.compiled().total() >= number or process.poll() is not None)


def _start(world: World, *, resume: bool) -> subprocess.Popen[bytes]:
    file = world.folder / "world.json"
    file.write_text(json.dumps({"folder": str(world.folder), "target": str(world.target)}))
    words = [sys.executable, str(HERE / "driver.py"), str(file)]
    return subprocess.Popen(words + (["--resume"] if resume else []), cwd=world.folder)


def _end(process: subprocess.Popen[bytes], way: str) -> None:
    keepers = list(session.members(process.pid))
    process.send_signal(signal.SIGKILL if way == "all" else signal.Signals[way])
    for pid in keepers if way == "all" else ():
        # with its keeper dead nobody ends the compilers but the system, when it goes down
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        session.end_session(pid)


def _alive(root: str) -> list[str]:
    """Processes that still work below the build's folder a good while after it was ended."""
    with suppress(AssertionError):
        wait_for(lambda: not _below(root))
    return _below(root)


def _below(root: str) -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            line = file.read_bytes().replace(b"\0", b" ").decode()
            found += [line[:200]] if root in line else []
    return found


def _note_finished(world: World, plan: BuildPlan) -> None:
    """Write into the journal of the compilers which objects ninja has finished by now."""
    done = sorted(path.name for path in runner.finished(plan.layout.source))
    with world.journal.open("a") as stream:
        stream.write(f"== {json.dumps(done)}\n")


def again(world: World) -> list[str]:
    """Sources that were begun although ninja had them finished at an earlier interruption."""
    finished: set[str] = set()
    found = []
    for line in world.journal.read_text().splitlines() if world.journal.exists() else ():
        word, _, rest = line.partition(" ")
        if word == "==":
            finished |= {Path(name).stem for name in json.loads(rest)}
        elif word == "start" and Path(rest).stem in finished:
            found.append(rest)
    return found


def content(wheel: Path) -> dict[str, str]:
    """Name and hash of every file in a wheel."""
    with zipfile.ZipFile(wheel) as files:
        return {n: hashlib.sha256(files.read(n)).hexdigest() for n in sorted(files.namelist())}

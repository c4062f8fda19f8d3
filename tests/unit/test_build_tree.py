"""The processes of a build: seen, measured and ended, on Linux and in Windows Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import PATIENCE, gone, wait_for

from tritonwin.build import runner
from tritonwin.build.runner import ProcessTree

# starts two children that give signs of life for ten minutes, each in a process group of its own as
# ninja does it, and holds 64 MiB
PROGRAM = """
import os, subprocess, sys, time
held = bytearray(2**26)
child = (
    "import sys, time\\n"
    "for _ in range(12000):\\n"
    "    with open(sys.argv[1], 'a') as file: file.write('x')\\n"
    "    time.sleep(0.05)\\n"
)
options = {} if os.name == "nt" else {"preexec_fn": os.setpgrp}
for number in range(2):
    subprocess.Popen([sys.executable, "-S", "-c", child, f"life-{number}"], **options)
print("started", flush=True)
time.sleep(float(sys.argv[1]))
sys.exit(7)
"""


def begin(folder: Path, program: str, *words: str) -> ProcessTree:
    command = [sys.executable, "-c", program, *words]
    with (folder / "log").open("wb") as log:
        return ProcessTree(command, env=dict(os.environ), cwd=folder, log=log)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[ProcessTree]:
    made = begin(tmp_path, PROGRAM, "600")
    yield made
    made.end()


def test_all_processes_are_seen_and_ended(started: ProcessTree, tmp_path: Path) -> None:
    wait_for(lambda: (tmp_path / "log").read_text().startswith("started"))
    wait_for(lambda: signs_of_life(tmp_path) == 2)
    assert started.poll() is None
    assert len(started.held()) >= 3  # on Windows there is one that draws the console
    assert 2**26 < sum(started.held()) < 2**30
    started.end()
    assert started.held() == []
    assert signs_of_life(tmp_path) == 0
    assert started.poll() not in {None, 0}
    started.end()  # twice does no harm


def test_what_a_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    made = begin(tmp_path, PROGRAM, "0")
    wait_for(lambda: made.poll() is not None)
    assert made.poll() == 7
    made.end()
    assert made.held() == []
    assert signs_of_life(tmp_path) == 0


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        try:
            made = ProcessTree([str(tmp_path / "none")], env={}, cwd=tmp_path, log=log)
        except OSError:
            return
        wait_for(lambda: made.poll() is not None)
        assert made.poll() == 127
        made.end()
    assert "cannot be started" in (tmp_path / "log").read_text()


OWNER = """
import os, sys, time
from pathlib import Path
from tritonwin.build.runner import ProcessTree
log = open(sys.argv[1], "wb")
made = ProcessTree([sys.executable, "-c", sys.argv[2], "600"], env=dict(os.environ), cwd=Path.cwd(), log=log)
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_the_tree_dies_with_tritonwin(tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    source = str(Path(runner.__file__).parent.parent.parent)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(log), PROGRAM],
        env={**os.environ, "PYTHONPATH": source},
        cwd=tmp_path,
    )
    wait_for(lambda: log.exists() and log.read_text().startswith("started"))
    wait_for(lambda: signs_of_life(tmp_path) == 2)
    getattr(owner, how)()  # nothing of it can clean up
    owner.wait(PATIENCE)
    wait_for(lambda: signs_of_life(tmp_path) == 0)


def signs_of_life(folder: Path) -> int:
    """The number of children that write into their files."""
    before = {path: path.stat().st_size for path in folder.glob("life-*")}
    time.sleep(0.5)
    return sum(path.stat().st_size > size for path, size in before.items())


@pytest.mark.skipif(os.name == "nt", reason="Windows needs no keeper: it ends a job itself")
def test_without_its_keeper_the_tree_is_ended_by_us(started: ProcessTree, tmp_path: Path) -> None:
    from tritonwin.build.session import members

    keeper = started._leader.pid  # type: ignore[attr-defined]
    wait_for(lambda: len(list(members(keeper))) == 3)
    children = tuple(members(keeper))
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: started.poll() is not None)
    started.end()
    assert all(map(gone, children))

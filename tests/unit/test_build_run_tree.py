"""A build's processes: started, watched and ended as one, and gone when tritonwin is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tritonwin.build import tree, watch

# starts two children that would run for long, one in a process group of its own as ninja does it,
# and holds 64 MiB
PROGRAM = """
import subprocess, sys, time
held = bytearray(2**26)
options = {} if sys.platform == "win32" else {"start_new_session": False, "preexec_fn": __import__("os").setpgrp}
for number in range(2):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)  # NAME"], **options)
print("started", flush=True)
time.sleep(float(sys.argv[1]))
sys.exit(7)
"""


@pytest.fixture
def name() -> str:
    """A word by which the processes of this test are told from all others."""
    return f"tree-{os.getpid()}-{time.monotonic_ns()}"


@pytest.fixture
def started(tmp_path: Path, name: str) -> Iterator[tree.Tree]:
    with (tmp_path / "log").open("wb") as log:
        made = tree.start(
            [sys.executable, "-c", PROGRAM.replace("NAME", name), "60"],
            env=dict(os.environ),
            cwd=tmp_path,
            log=log,
        )
        yield made
        made.end()


def wait_for(condition: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def test_all_processes_are_seen_and_ended(started: tree.Tree, tmp_path: Path) -> None:
    wait_for(lambda: (tmp_path / "log").read_text().startswith("started"))
    wait_for(lambda: len(started.pids()) == 3)
    assert started.poll() is None
    found = watch.sample(started.pids())
    assert 2**26 < found.memory < 2**30
    started.end()
    assert started.pids() == ()
    assert started.poll() not in {None, 0}
    started.end()  # twice does no harm


def test_what_a_program_leaves_behind_is_ended(tmp_path: Path, name: str) -> None:
    with (tmp_path / "log").open("wb") as log:
        made = tree.start(
            [sys.executable, "-c", PROGRAM.replace("NAME", name), "0"],
            env=dict(os.environ),
            cwd=tmp_path,
            log=log,
        )
        wait_for(lambda: made.poll() is not None)
        assert made.poll() == 7
        made.end()
        assert made.pids() == ()
        assert (made.cpu_seconds() or 0) > 0


def test_processor_time_of_what_is_ended_counts(tmp_path: Path) -> None:
    """Also of a process with threads, which takes a moment from its end until it is gone."""
    program = (
        "import threading, time\n"
        "for _ in range(4): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "while time.process_time() < 0.5: pass\n"
        "print('worked', flush=True)\n"
        "time.sleep(60)\n"
    )
    log = tmp_path / "log"
    with log.open("wb") as stream:
        made = tree.start(
            [sys.executable, "-c", program], env=dict(os.environ), cwd=tmp_path, log=stream
        )
        wait_for(lambda: log.read_text().startswith("worked"))
        made.end()
    assert 0.5 <= (made.cpu_seconds() or 0) < 5


def test_a_bare_name_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log, pytest.raises(ValueError, match="absolute"):
        tree.start(["python"], env={}, cwd=tmp_path, log=log)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        try:
            made = tree.start([str(tmp_path / "none")], env={}, cwd=tmp_path, log=log)
        except OSError:
            return
        wait_for(lambda: made.poll() is not None)
        assert made.poll() == 127
        made.end()
    assert "cannot be started" in (tmp_path / "log").read_text()


OWNER = """
import os, sys, time
from pathlib import Path
from tritonwin.build import tree
log = open(sys.argv[1], "wb")
made = tree.start([sys.executable, "-c", sys.argv[2], "60"], env=dict(os.environ), cwd=Path.cwd(), log=log)
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_the_tree_dies_with_tritonwin(tmp_path: Path, name: str, how: str) -> None:
    log = tmp_path / "log"
    program = PROGRAM.replace("NAME", name)
    source = str(Path(tree.__file__).parent.parent.parent)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(log), program],
        env={**os.environ, "PYTHONPATH": source},
        cwd=tmp_path,
    )
    wait_for(lambda: log.exists() and log.read_text().startswith("started"))
    wait_for(lambda: len(alive(name)) >= 2)
    getattr(owner, how)()  # nothing of it can clean up
    owner.wait(10)
    wait_for(lambda: not alive(name), 10)


def alive(name: str) -> list[int]:
    if sys.platform != "win32":
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                # the owner and its keeper carry the word as well, in a longer text
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if line.endswith(f"# {name}\0".encode()):
                found.append(int(entry.name))
        return found
    query = f"name='python.exe' and commandline like '%# {name}%'"
    wmic = Path(os.environ["SystemRoot"], "System32/wbem/wmic.exe")
    done = subprocess.run(
        [str(wmic), "process", "where", query, "get", "processid"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return [int(word) for word in done.stdout.split() if word.isdigit()]


@pytest.mark.skipif(os.name == "nt", reason="Windows needs no keeper: it ends a job itself")
def test_without_its_keeper_the_tree_is_ended_by_us(started: tree.Tree, tmp_path: Path) -> None:
    wait_for(lambda: len(started.pids()) == 3)
    children = started.pids()
    parents = {
        Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] for pid in children
    }
    keeper = next(int(p) for p in parents if int(p) not in children)
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: started.poll() is not None)
    started.end()
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists() and not zombie(pid)]


def zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"


@pytest.mark.parametrize(
    ("line", "source"),
    [
        (
            "cicc --c++17 --orig_src_file_name /a/flash_bwd_hdim64_fp16_sm80.cu -o x.ptx",
            "flash_bwd_hdim64_fp16_sm80.cu",
        ),
        (r'"C:\cl.exe" -c "C:\a b\flash_api.cpp" -Fo"x.obj"', "flash_api.cpp"),
        ("ptxas -arch sm_80 tmpxft_1.ptx", ""),
        ("", ""),
    ],
)
def test_source_of_a_compiler(line: str, source: str) -> None:
    assert watch.source_in(line) == source


def test_memory_of_processes_that_are_gone() -> None:
    assert watch.sample([2**22 + 1]) == watch.Sample()

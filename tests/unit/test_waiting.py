"""Ctrl-C ends the programs that threads wait for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from pace import PATIENCE, wait_for

from tritonwin.facts.collect import collect
from tritonwin.output.view import of_diagnosis
from tritonwin.problems.records import Diagnosis
from tritonwin.system import files, waiting
from tritonwin.system.process import Completed, run
from tritonwin.system.waiting import waiting_threads


def hang(mark: Path) -> list[Completed]:
    """Like the probe: a second start where the first gave no answer."""
    program = f"import time; open({str(mark)!r}, 'w').close(); time.sleep(600)"
    return [run(sys.executable, ("-I", "-S", "-c", program), timeout=300) for _ in range(2)]


def test_results_and_errors_come_through() -> None:
    with waiting_threads() as threads:
        assert threads.result(threads.submit(int, "7")) == 7
        with pytest.raises(ValueError, match="seven"):
            threads.result(threads.submit(int, "seven"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_block_that_is_left_early_ends_every_program(
    tmp_path: Path, error: type[BaseException]
) -> None:
    def interrupted() -> None:
        with waiting_threads(most=2) as threads:
            waiting.extend(threads.submit(hang, tmp_path / str(n)) for n in range(4))
            wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
            raise error

    waiting: list[Future[list[Completed]]] = []
    with pytest.raises(error):
        interrupted()
    ran = [future.result() for future in waiting if not future.cancelled()]
    assert len(ran) == 2
    assert not any(done.timed_out for each in ran for done in each)


@pytest.mark.skipif(os.name == "nt", reason="a process there cannot be sent a Ctrl-C alone")
def test_ctrl_c_while_the_target_hangs(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\nsleep 600\n", encoding="utf-8")
    program.chmod(0o755)
    tool = subprocess.Popen(
        [sys.executable, "-m", "tritonwin", "doctor", "--timeout", "300", "--python", str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for((tmp_path / "started").exists)
    tool.send_signal(signal.SIGINT)
    out, err = tool.communicate(timeout=PATIENCE)
    assert (tool.returncode, out, err.strip()) == (130, b"", b"interrupted")


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that answers no question, in every variable that names places."""
    place = tmp_path / "server" / "gone"

    def never(kind: str) -> None:
        answer = getattr(Path, kind)

        def asked(path: Path, *words: object, **more: object) -> object:
            if str(path).startswith(str(place)):
                time.sleep(600)
            return answer(path, *words, **more)

        monkeypatch.setattr(Path, kind, asked)

    for kind in ("is_file", "is_dir", "stat", "glob", "open"):
        never(kind)
    monkeypatch.setattr(files, "_silent", set())
    for name in ("CUDA_PATH", "CUDA_HOME", "TRITON_CACHE_DIR", "VIRTUAL_ENV", "PYENV_ROOT"):
        monkeypatch.setenv(name, str(place / name))
    monkeypatch.setenv("CC", str(place / "cl.exe"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(place / "bin"), os.environ["PATH"]]))
    return place


def test_a_drive_that_does_not_answer_is_given_up_and_named(
    silent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.2)
    began = time.monotonic()
    facts = collect(python=sys.executable)
    assert time.monotonic() - began < 30
    said = [error.error for error in facts.errors if error.collector == "disk"]
    assert f"this drive does not answer: {os.path.normcase(silent / 'bin')}" in said
    assert [e for e in facts.errors if e.collector != "disk"] == []
    assert facts.target is not None
    shown = of_diagnosis(facts, Diagnosis(problems=(), checks=()))
    assert "does not answer" in str(shown.body)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal to send")
def test_ctrl_c_while_a_drive_does_not_answer(silent: Path) -> None:
    del silent
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        collect(python=sys.executable)
    assert time.monotonic() - began < 5

"""A build that runs: its memory between runs, ninja's log, its processes, and the answer to a failure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from build_plans import plan
from cases import cases
from environments import make_venv
from hypothesis import given
from hypothesis import strategies as st
from trees import write

from tritonwin.build import runner, venv
from tritonwin.build.records import BuildRun, Ending
from tritonwin.build.runner import Counter, next_jobs, read_plan, read_runs, remaining, store
from tritonwin.errors import UserError
from tritonwin.problems.explain import explain_stream
from tritonwin.support import pip
from tritonwin.system.process import Completed


def test_plan_and_state_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = plan(tmp_path)
    runs = (BuildRun(jobs=8, ending="out-of-memory", peak_memory=2**33, total=73),)
    store(made.layout.plan, made)
    store(made.layout.state, runs)
    assert read_plan(made.layout.plan) == made
    assert read_runs(made) == runs


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"recipe": 1}', "\0"])
def test_no_plan_of_ours(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        write(tmp_path, {"plan.json": content, "state.json": content})
    with pytest.raises(UserError, match=r"no build was begun|cannot be used") as error:
        read_plan(plan(tmp_path).layout.plan)
    assert error.value.help
    assert read_runs(plan(tmp_path)) == ()


@pytest.mark.parametrize(("runs", "jobs"), cases("build_runs.toml", "jobs"))
def test_jobs_of_the_next_run(runs: list[tuple[int, Ending]], jobs: int) -> None:
    assert next_jobs([BuildRun(jobs=n, ending=e) for n, e in runs], 8) == jobs


def log_of(tmp_path: Path, said: str, code: int = 1, indent: str = "") -> Path:
    path = tmp_path / "build-1.log"
    text = (
        "torch.__version__  = 2.11.0+cu130\nrunning build_ext\n"
        "[1/73] nvcc -c flash_a.cu\n"
        f"FAILED: [code={code}] build/flash_b.o \n"
        f"/usr/local/cuda/bin/nvcc -c csrc/flash_b.cu -o build/flash_b.o\n{said}\n"
        "[3/73] nvcc -c flash_c.cu\n"
        "ninja: build stopped: subcommand failed.\n"
        "subprocess.CalledProcessError: Command '['ninja', '-v', '-j', '2']' returned non-zero\n"
        "RuntimeError: Error compiling objects for extension\n"
    )
    path.write_text("".join(indent + line for line in text.splitlines(keepends=True)))
    return path


@pytest.mark.parametrize("indent", ["", "  "], ids=["plain", "by pip"])
@pytest.mark.parametrize("said", cases("build_runs.toml", "out_of_memory"))
def test_out_of_memory_is_recognised(tmp_path: Path, said: str, indent: str) -> None:
    code = 137 if said == "Killed" else 1
    assert runner.is_out_of_memory(log_of(tmp_path, said, code, indent), 1)


@pytest.mark.parametrize("said", cases("build_runs.toml", "otherwise"))
def test_any_other_failure_is_not_tried_again(tmp_path: Path, said: str) -> None:
    assert not runner.is_out_of_memory(log_of(tmp_path, said), 1)


def test_what_was_said_before_the_failure_counts_for_nothing(tmp_path: Path) -> None:
    path = log_of(tmp_path, "kernel.cu(12): error: identifier is undefined")
    path.write_text(cases("build_runs.toml", "out_of_memory")[0] + "\n" + path.read_text())
    assert not runner.is_out_of_memory(path, 1)
    assert runner.is_out_of_memory(path, 137)  # the command itself was killed


def test_an_environment_that_sees_the_target(tmp_path: Path) -> None:
    target = make_venv(tmp_path / "tärget")
    write(target.site_packages, {
        "torch/__init__.py": "here = 1\n",
        "torch-2.11.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n",
    })  # fmt: skip
    before = sorted(target.folder.rglob("*"))
    made = venv.make(str(target.python), tmp_path / "v")
    python = venv.python_of(tmp_path / "v")
    found = venv.installed(python)
    assert found["torch"] == "2.11.0"
    wanted = ("torch>=2.11", "torch<2.11", "Torch==2.11.*", "ninja>=1.13")
    assert venv.missing(wanted, found) == ("torch<2.11", "ninja>=1.13")
    # what is its own comes first
    write(made, {
        "torch-2.12.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.12.0\n",
    })  # fmt: skip
    assert venv.installed(python)["torch"] == "2.12.0"
    assert venv.make(str(target.python), tmp_path / "v") == made
    assert [p for p in sorted(target.folder.rglob("*")) if "__pycache__" not in str(p)] == before


def test_an_environment_that_was_half_made(tmp_path: Path) -> None:
    target = make_venv(tmp_path / "target")
    write(tmp_path, {"v/pyvenv.cfg": "home = nowhere\n"})
    venv.make(str(target.python), tmp_path / "v")
    assert venv.installed(venv.python_of(tmp_path / "v")) is not None
    assert "nowhere" not in (tmp_path / "v/pyvenv.cfg").read_text()


def test_what_lies_beside_a_python_is_not_imported(tmp_path: Path) -> None:
    """Its folder is the current one, and old programs put scripts there."""
    target = make_venv(tmp_path / "target")
    for name in ("json", "sysconfig", "importlib"):
        (target.python.parent / f"{name}.py").write_text("raise SystemExit('planted')\n")
    made = venv.make(str(target.python), tmp_path / "v")
    assert str(target.site_packages) in (made / venv._LINK).read_text()


def test_an_embedded_python_is_copied_without_what_isolates_it(tmp_path: Path) -> None:
    files = ("python.exe", "python312.dll", "_socket.pyd", "python312.zip", "Include/Python.h",
             "libs/python312.lib")  # fmt: skip
    others = ("python312._pth", "models.zip", "Lib/site-packages/torch/__init__.py", "run.bat")
    write(tmp_path / "embed", dict.fromkeys((*files, *others), ""))
    venv._copy(tmp_path / "embed", tmp_path / "v")
    copied = (path for path in (tmp_path / "v").rglob("*") if path.is_file())
    assert {path.relative_to(tmp_path / "v").as_posix() for path in copied} == set(files)
    with pytest.raises(UserError, match="cannot be copied"):
        venv._copy(tmp_path / "gone", tmp_path / "w")


def test_a_target_that_can_make_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be started"):
        venv.make(str(tmp_path / "python"), tmp_path / "v")
    if sys.platform != "win32":
        fake = tmp_path / "python"
        fake.write_text("#!/bin/sh\necho 'No module named venv' >&2\nexit 1\n")
        fake.chmod(0o755)
        with pytest.raises(UserError, match="No module named venv") as error:
            venv.make(str(fake), tmp_path / "v")
        assert "--python" in error.value.help


LOG = """# ninja log v6
0\t1520\t1764000000000000000\ta.o\t5d41402abc4b2a76
12\t2500\t1764000000000000001\tsub/b.o\tb9719d911017c592
20\t9000\t1764000000000000002\ta.o\t5d41402abc4b2a76
30\t31
"""


def fed(*lines: str, before: int = 0, planned: int | None = None) -> Counter:
    counter = Counter(before=before, planned=planned)
    for line in lines:
        counter.feed(line)
    return counter


def steps(count: int, of: int) -> list[str]:
    return [f"[{n}/{of}] nvcc -c x.cu" for n in range(1, count + 1)]


def said_in(row: dict[str, Any]) -> list[str]:
    """The lines of a row: as they stand, or of each ninja so many steps of so many."""
    return row.get("lines") or [s for n, of in row.get("steps", ()) for s in steps(n, of)]


@pytest.mark.parametrize("row", cases("build_runs.toml", "progress"))
def test_steps_over_several_runs(row: dict[str, Any]) -> None:
    counter = fed(*said_in(row), before=row.get("before", 0), planned=row.get("planned"))
    assert (counter.done, counter.total) == (row["done"], row.get("total"))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 50))
def test_progress_never_runs_backwards_or_past_the_end(ninjas: list[int], before: int) -> None:
    counter, last = Counter(before=before), before
    for of in ninjas:
        for line in steps(of, of):
            counter.feed(line)
            assert last < counter.done <= (counter.total or 0)
            last = counter.done
    assert counter.done == before + sum(ninjas) == counter.total


@given(st.text(max_size=200))
def test_any_line_can_be_fed(line: str) -> None:
    assert fed(line).done >= 0


def test_finished_is_what_is_noted_and_there(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/.ninja_log").write_text(LOG)
    assert runner.finished(tmp_path) == ()
    write(tmp_path / "x", {"a.o": "", "sub/b.o": "", "31": ""})
    assert runner.finished(tmp_path) == (tmp_path / "x/a.o", tmp_path / "x/sub/b.o")
    (tmp_path / "x/a.o").unlink()
    assert runner.finished(tmp_path) == (tmp_path / "x/sub/b.o",)


def test_a_log_of_the_source_names_no_file_of_others(tmp_path: Path) -> None:
    theirs, folder = tmp_path / "empty.txt", tmp_path / "s"
    theirs.touch()
    folder.mkdir()
    (folder / "own.o").touch()
    (folder / "link").symlink_to(tmp_path)
    outputs = (theirs, "../empty.txt", "link/empty.txt", "own.o", "nul\0.o")
    (folder / ".ninja_log").write_text("".join(f"1\t2\t0\t{each}\ta1\n" for each in outputs))
    assert list(runner.remove_damaged(runner.finished(folder))) == [folder / "own.o"]
    assert theirs.exists()


@pytest.mark.parametrize("row", cases("build_runs.toml", "remaining"))
def test_remaining_time(row: dict[str, Any]) -> None:
    left = remaining(fed(*said_in(row)), row["jobs"], row["seconds"])
    assert left == (pytest.approx(row["left"]) if "left" in row else None)


def test_what_pip_and_a_build_say_is_told_without_secrets(tmp_path: Path) -> None:
    said = b"ERROR: HTTP 403 for https://me:opaque@h.org/x.whl?sig=opaque"
    assert "opaque" not in pip.last_words(Completed(1, b"", said))
    log = tmp_path / "build.log"
    log.write_bytes(
        b"[1/2] a\nFAILED: [code=2] x.o\ncc x\ngit clone https://me:opaque@h.org/x\n"
        b"ImportError: DLL load failed: API_TOKEN=opaque https://me:opaque@h.org/y\n"
    )
    with log.open("rb") as stream:
        found = explain_stream(stream, None)
    evidence = [e for p in found.problems for e in p.evidence]
    shown = [*evidence, *found.known, *found.suspicious]
    assert not any("opaque" in line.text for line in shown)

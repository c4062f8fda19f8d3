"""What a build remembers, how it decides on jobs, and what it makes of its log."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import machines
import pytest
from build_plans import plan
from environments import make_venv
from hosts import fake_host
from trees import write

from tritonwin.build import choices, failure, venv
from tritonwin.build.order import Order, Request
from tritonwin.build.outcome import BuildRun, BuildState, Ending
from tritonwin.build.plan import Layout, Toolkit
from tritonwin.build.recipe import load
from tritonwin.build.runner import read_plan, read_state, write_plan, write_state
from tritonwin.build.venv import BuildEnvironmentError
from tritonwin.errors import UserError
from tritonwin.support.choice import Choice
from tritonwin.system.host import Host


def test_plan_and_state_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = plan(tmp_path)
    state = BuildState(
        runs=(BuildRun(jobs=8, ending="out-of-memory", peak_memory=2**33, total=73),)
    )
    write_plan(made)
    write_state(made, state)
    assert read_plan(made.layout.plan) == made
    assert read_state(made) == state


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"recipe": 1}', "\0"])
def test_no_plan_of_ours(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        write(tmp_path, {"plan.json": content, "state.json": content})
    with pytest.raises(UserError, match=r"no build was begun|cannot be used") as error:
        read_plan(plan(tmp_path).layout.plan)
    assert error.value.help
    assert read_state(plan(tmp_path)) == BuildState()


@pytest.mark.parametrize(
    ("runs", "jobs"),
    [
        ([], 8),
        ([(8, "out-of-memory")], 4),
        ([(8, "out-of-memory"), (4, "out-of-memory")], 2),
        ([(8, "out-of-memory"), (4, "interrupted")], 4),
        ([(1, "out-of-memory")], 1),
        ([(8, "running")], 8),
        ([(16, "interrupted")], 8),  # somebody asked for fewer meanwhile
    ],
)
def test_jobs_of_the_next_run(runs: list[tuple[int, Ending]], jobs: int) -> None:
    assert BuildState(runs=tuple(BuildRun(jobs=n, ending=e) for n, e in runs)).jobs(8) == jobs


# Table 2.3 of the facts: what nvcc, gcc, cl and shells print when memory is short. A step that
# failed for another reason must not be tried again with fewer jobs.
OUT_OF_MEMORY = [
    "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
    "nvcc error   : 'ptxas' died due to signal 9 (Kill signal)",
    "nvcc error   : 'cudafe++' died due to signal 9 (Kill signal)",
    "c++: fatal error: Killed signal terminated program cc1plus",
    "g++: internal compiler error: Killed (program cc1plus)",
    "virtual memory exhausted: Cannot allocate memory",
    "Killed",
    "LLVM ERROR: out of memory",
    'nvcc error   : \'""%CICC_PATH%\\cicc"\' died with status 0xC0000409',
    "nvcc error : 'cudafe++' died with status 0xC0000005 (ACCESS_VIOLATION)",
    "flash_fwd.cu(12): fatal error C1060: compiler is out of heap space",
    "c1xx : fatal error C1002: compiler is out of heap space in pass 2",
    "fatal error C1076: compiler limit : internal heap limit reached",
]
OTHERWISE = [
    'kernel.cu(12): error: identifier "flash" is undefined',
    "nvcc fatal   : Unsupported gpu architecture 'compute_70'",
    "nvcc fatal   : '1 ': expected a number",
    "C:\\PROGRA~1\\VC\\bin\\HostX86\\x64\\cl.exe: fatal error C1060: compiler is out of heap space",
    "fatal error C1083: Cannot open compiler generated file: '': Invalid argument",
    "ninja: error: Stat(C:\\x): Filename longer than 260 characters",
    "LINK : fatal error LNK1181: cannot open input file 'flash_api.obj'",
]


def log_of(tmp_path: Path, said: str, code: int = 1, indent: str = "") -> Path:
    path = tmp_path / "build.log"
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
@pytest.mark.parametrize("said", OUT_OF_MEMORY)
def test_out_of_memory_is_recognised(tmp_path: Path, said: str, indent: str) -> None:
    code = 137 if said == "Killed" else 1
    assert failure.is_out_of_memory(log_of(tmp_path, said, code, indent), 0, 1)


@pytest.mark.parametrize("said", OTHERWISE)
def test_any_other_failure_is_not_tried_again(tmp_path: Path, said: str) -> None:
    assert not failure.is_out_of_memory(log_of(tmp_path, said), 0, 1)


def test_what_was_said_before_the_failure_counts_for_nothing(tmp_path: Path) -> None:
    path = log_of(tmp_path, OTHERWISE[0])
    path.write_text(OUT_OF_MEMORY[0] + "\n" + path.read_text())
    assert not failure.is_out_of_memory(path, 0, 1)
    assert failure.is_out_of_memory(path, 0, 137)  # the command itself was killed


def test_the_words_of_the_failed_step(tmp_path: Path) -> None:
    path = log_of(tmp_path, OTHERWISE[0])
    assert [e.text for e in failure.failed_step(path, 0)][1:] == [OTHERWISE[0]]
    assert [e.where for e in failure.failed_step(path, 0)] == ["line 4", "line 6"]
    indented = failure.failed_step(log_of(tmp_path, OTHERWISE[0], indent="  "), 0)
    assert indented == failure.failed_step(log_of(tmp_path, OTHERWISE[0]), 0)
    assert failure.failed_step(path, path.stat().st_size) == ()
    shown = failure.explanation(log_of(tmp_path, OUT_OF_MEMORY[0]), 0, None)
    assert "line 6" in {e.where for p in shown.problems for e in p.evidence}


def test_an_environment_that_sees_the_target(tmp_path: Path) -> None:
    target = make_venv(tmp_path / "tärget")
    write(target.site_packages, {
        "torch/__init__.py": "here = 1\n",
        "torch-2.11.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n",
    })  # fmt: skip
    before = sorted(target.folder.rglob("*"))
    made = venv.make(str(target.python), tmp_path / "v")
    found = venv.installed(made.python)
    assert found["torch"] == "2.11.0"
    wanted = ("torch>=2.11", "torch<2.11", "Torch==2.11.*", "ninja>=1.13")
    assert venv.missing(wanted, found) == ("torch<2.11", "ninja>=1.13")
    # what is its own comes first
    write(Path(made.site_packages), {
        "torch-2.12.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.12.0\n",
    })  # fmt: skip
    assert venv.installed(made.python)["torch"] == "2.12.0"
    assert venv.make(str(target.python), tmp_path / "v") == made
    assert [p for p in sorted(target.folder.rglob("*")) if "__pycache__" not in str(p)] == before


def test_an_environment_that_was_half_made(tmp_path: Path) -> None:
    target = make_venv(tmp_path / "target")
    write(tmp_path, {"v/pyvenv.cfg": "home = nowhere\n"})
    made = venv.make(str(target.python), tmp_path / "v")
    assert venv.installed(made.python) is not None
    assert "nowhere" not in (tmp_path / "v/pyvenv.cfg").read_text()


def test_what_lies_beside_a_python_is_not_imported(tmp_path: Path) -> None:
    """Its folder is the current one, and old programs put scripts there."""
    target = make_venv(tmp_path / "target")
    for name in ("json", "sysconfig", "importlib"):
        (target.python.parent / f"{name}.py").write_text("raise SystemExit('planted')\n")
    made = venv.make(str(target.python), tmp_path / "v")
    assert str(target.site_packages) in made.target_paths


def test_a_target_that_can_make_none(tmp_path: Path) -> None:
    with pytest.raises(BuildEnvironmentError, match="cannot be started"):
        venv.make(str(tmp_path / "python"), tmp_path / "v")
    if sys.platform != "win32":
        fake = tmp_path / "python"
        fake.write_text("#!/bin/sh\necho 'No module named venv' >&2\nexit 1\n")
        fake.chmod(0o755)
        with pytest.raises(BuildEnvironmentError, match="No module named venv") as error:
            venv.make(str(fake), tmp_path / "v")
        assert "--python" in error.value.help


def cached(toolkit: Toolkit | None, host: Host, root: str) -> Choice[dict[str, str]]:
    machine = replace(machines.linux(host.home), host=host)
    request = Request(recipe=load("flash-attn"), order=Order(recipe="flash-attn"), machine=machine)
    layout = Layout(root, windows=host.windows)
    return choices.compiler_cache(request, toolkit, layout)


@pytest.mark.parametrize(("home", "used"), [("cuda", True), ("Program Files", False)])
def test_nvcc_behind_a_cache(tmp_path: Path, home: str, used: bool) -> None:
    write(tmp_path, {f"{home}/bin/nvcc": "", "bin/ccache": "", "bin/ccache.exe": ""})
    toolkit = Toolkit(origin="system", path=str(tmp_path / home), version="13.0")
    host = fake_host(tmp_path, {"PATH": str(tmp_path / "bin")}, windows=os.name == "nt")
    found = cached(toolkit, host, "root")
    (said,) = found.reasons
    assert (said.flag, Path(said.value).stem) == ("--no-compiler-cache", "ccache")
    assert ("not used" in said.reason) is not used
    expected = f"{said.value} {tmp_path / home / 'bin' / 'nvcc'}"
    assert found.value == ({"PYTORCH_NVCC": expected} if used else {})
    nothing = cached(None, host, "root")
    assert nothing == cached(toolkit, fake_host(tmp_path), "root") == Choice(value={})


def test_each_build_has_a_server_of_sccache_for_itself(tmp_path: Path) -> None:
    write(tmp_path, {"bin/ccache": "", "bin/sccache": "", "bin/sccache.exe": ""})
    toolkit = Toolkit(origin="system", path=str(tmp_path / "cuda"), version="13.0")
    host = fake_host(tmp_path, {"PATH": str(tmp_path / "bin")}, windows=os.name == "nt")
    ports = [
        int(cached(toolkit, host, root).value["SCCACHE_SERVER_PORT"])
        for root in ("one", "one", "another", "no \udce9 text")
    ]
    assert ports[0] == ports[1] != ports[2]
    assert all(1024 < port < 32768 for port in ports)


@pytest.mark.skipif(os.name == "nt", reason="sccache's socket is a file on POSIX alone")
@pytest.mark.parametrize(
    ("there", "length", "used"),
    [
        (["sccache"], 88, "sccache"),
        (["sccache"], 89, None),
        (["ccache", "sccache"], 89, "ccache"),
    ],
)
def test_sccache_needs_room_for_the_name_of_a_socket(
    tmp_path: Path, there: list[str], length: int, used: str | None
) -> None:
    write(tmp_path, {f"bin/{name}": "" for name in there})
    toolkit = Toolkit(origin="system", path="/cuda", version="13.0")
    host = fake_host(tmp_path, {"PATH": str(tmp_path / "bin")}, windows=False)
    found = cached(toolkit, host, "/" + "r" * (length - len("/" + "/t")))
    (said,) = found.reasons
    assert found.value.get("PYTORCH_NVCC") == (used and f"{said.value} /cuda/bin/nvcc")
    assert ("--root" in said.reason) is (used is None)

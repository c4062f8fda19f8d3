"""Scripts of plans: what they say, and that the one for sh does it."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import linux, torch, windows
from pace import PATIENCE

from tritonwin.build import programs, steps
from tritonwin.build.model import BuildPlan, Edit, PinnedFile, Source
from tritonwin.build.order import Machine, Order
from tritonwin.build.planner import plan
from tritonwin.build.script import SHELLS, Shell, script
from tritonwin.build.steps import ScriptError
from tritonwin.facts.toolchain.cuda import find_cuda_toolkits

# a setup.py that says what it was started with
SETUP = """\
import json, os, sys
FLAGS = ["-O3", "-std=c++17"]
found = {"environ": dict(os.environ), "argv": sys.argv, "cwd": os.getcwd(), "flags": FLAGS}
try:
    import of_the_target
    found["target"] = of_the_target.WORD
except ImportError:
    pass
with open(os.path.join(sys.argv[-1], "seen.json"), "w") as file:
    json.dump(found, file)
"""


def on_windows(tmp_path: Path) -> BuildPlan:
    return plan(Order(recipe="flash-attn"), windows(tmp_path))


@pytest.mark.parametrize("shell", ["cmd", "powershell"])
def test_every_value_is_exact(tmp_path: Path, shell: Shell) -> None:
    text = script(on_windows(tmp_path), shell)
    assert text.count("\r\n") == text.count("\n")
    wanted = {"cmd": 'set "MAX_JOBS=8"', "powershell": "$env:MAX_JOBS = '8'"}[shell]
    lines = text.split("\r\n")
    assert wanted in lines
    assert not any(line.startswith("set ") and not line.startswith('set "') for line in lines)
    assert not any("&&" in line and "set " in line for line in lines)
    assert "-vcvars_ver=14.44.35207" in text
    assert all(line == line.rstrip() for line in lines)


def test_what_is_set_is_set_after_what_is_unset(tmp_path: Path) -> None:
    lines = script(on_windows(tmp_path), "cmd").split("\r\n")
    assert lines.index('set "NVCC_APPEND_FLAGS="') < lines.index(
        'set "NVCC_APPEND_FLAGS=-DUSE_CUDA=1 -D_USE_MATH_DEFINES"'
    )


def test_percent_signs_are_doubled_in_a_batch(tmp_path: Path) -> None:
    made = replace(on_windows(tmp_path), environment={"A": "50%"})
    assert 'set "A=50%%"' in script(made, "cmd")
    assert "$env:A = '50%'" in script(made, "powershell")


@pytest.mark.parametrize("value", ['a" & del b', "two\nlines"])
def test_what_a_batch_cannot_say_is_refused(tmp_path: Path, value: str) -> None:
    made = replace(on_windows(tmp_path), environment={"A": value})
    with pytest.raises(ScriptError):
        script(made, "cmd")


def test_what_a_batch_cannot_say_in_a_word_is_refused(tmp_path: Path) -> None:
    """Neither for cmd itself, nor where PowerShell calls cmd for Visual Studio's environment."""
    made = on_windows(tmp_path)
    quoted = replace(made, command=('say "x"',))
    for shell in ("cmd", "powershell"):
        with pytest.raises(ScriptError, match="cannot be written into a batch"):
            script(quoted, shell)
    percent = replace(made, command=("50%",))
    assert '"50%%"' in script(percent, "cmd")
    with pytest.raises(ScriptError, match="percent sign"):
        script(percent, "powershell")


@pytest.mark.parametrize("submodules", [(), ("csrc/cutlass",)])
def test_a_source_from_git_is_checked_out_at_its_ref(
    tmp_path: Path, submodules: tuple[str, ...]
) -> None:
    source = Source(
        kind="git", location="https://example.org/x", ref="v1", submodules=submodules, skip=("big",)
    )
    found = [
        s for s in steps.steps(replace(on_windows(tmp_path), source=source), {})
        if isinstance(s, steps.Run) and s.unless and s.unless.endswith(".checked-out")
    ]  # fmt: skip
    words = [" ".join(step.words[3:]) for step in found]
    assert "config remote.origin.url https://example.org/x" in words
    assert "fetch --quiet --depth 1 -- origin v1" in words
    updates = [line for line in words if line.startswith("submodule")]
    assert updates == [
        f"submodule --quiet update --init --recursive --depth 1 -- {name}" for name in submodules
    ]
    text = script(replace(on_windows(tmp_path), source=source), "cmd")
    assert '".git" "big"' in text


@pytest.mark.parametrize("on_path", [True, False])
def test_an_archive_that_lies_here_is_not_fetched(tmp_path: Path, on_path: bool) -> None:
    location = r"C:\mine\x-1.0.tar.gz" if on_path else "x-1.0.tar.gz"
    made = replace(
        on_windows(tmp_path), source=Source(kind="sdist", location=location, sha256="0" * 64)
    )
    lines = script(made, "cmd", lambda: {"x-1.0.tar.gz": "https://example.org/x"}).split("\r\n")
    (checked,) = [line for line in lines if "urlopen" in line and "x-1.0" in line]
    assert "0" * 64 in checked
    assert ("https://example.org/x" in checked) is not on_path
    file = location if on_path else rf"{made.root}\files\{location}"
    assert any("tarfile" in line and f'"{file}"' in line for line in lines)


def test_a_toolkit_for_windows_is_fetched_and_unpacked(tmp_path: Path) -> None:
    """The wheels for Windows hold what a linker asks for; no names are made there."""
    machine = windows(tmp_path, torch=torch("2.11.0+cu130", "13.0"))
    made = plan(Order(recipe="flash-attn"), machine)
    assert made.cuda is not None
    assert made.cuda.parts
    text = script(made, "cmd")
    for part in made.cuda.parts:
        lines = [line for line in text.split("\r\n") if part.file in line]
        assert [part.sha256 in line for line in lines] == [True, False]
    assert "symlink" not in text


def test_what_the_build_requires_is_installed_into_its_own_environment(tmp_path: Path) -> None:
    made = replace(on_windows(tmp_path), requirements=("ninja>=1.11", "wheel"))
    lines = script(made, "cmd").split("\r\n")
    (line,) = [line for line in lines if '"install"' in line]
    assert line.endswith('"-m" "pip" "install" "--quiet" "ninja>=1.11" "wheel"')
    assert r"\v\Scripts\python.exe" in line
    assert "--without-pip" not in "".join(lines)
    none = script(replace(made, requirements=()), "cmd")
    assert '"--without-pip"' in none
    assert '"install"' not in none


def test_a_refused_plan_has_no_script(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), windows(tmp_path, msvc=()))
    with pytest.raises(ScriptError) as caught:
        script(made, "cmd")
    assert caught.value.help


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_for_its_system(tmp_path: Path, shell: Shell) -> None:
    made = plan(Order(recipe="flash-attn"), windows(tmp_path))
    made = replace(made, windows=shell == "sh")
    with pytest.raises(ScriptError, match="does not run"):
        script(made, shell)


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "setup.py").write_text(SETUP)
    (folder / "kept").mkdir()
    (folder / "kept" / "a.cu").write_text("kept")
    (folder / "big").mkdir()
    (folder / "big" / "b.cu").write_text("skipped")
    return folder


def test_the_script_for_sh_builds(tmp_path: Path) -> None:
    site = tmp_path / "target-packages"
    site.mkdir()
    (site / "of_the_target.py").write_text("WORD = 'seen'\n")
    made = plan(Order(recipe="flash-attn", root=tmp_path / "it's-$HOME"), linux(tmp_path))
    made = replace(
        made,
        target=sys.executable,
        python=".".join(map(str, sys.version_info[:3])),
        source=Source(kind="folder", location=str(project(tmp_path / "p")), skip=("big",)),
        edits=(Edit(file="setup.py", find='"-std=c++17"', replace='"-std=c++20"', reason=""),),
        requirements=(),
        environment={**made.environment, "QUOTED": "it's $HOME `x`"},
    )
    file = tmp_path / "build.sh"
    file.write_text(script(made, "sh"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MAX_JOBS": "64 ", "CL": "/x",
           "PYTHONPATH": str(site)}  # fmt: skip
    for _ in range(2):  # started again it goes on from where it is
        done = subprocess.run(
            ["/bin/sh", str(file)], env=env, capture_output=True, timeout=180, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
    seen = json.loads((made.layout.dist / "seen.json").read_text())
    for name, value in made.environment.items():
        assert seen["environ"][name] == value
    assert not {"CL", "PYTHONPATH"} & seen["environ"].keys()
    assert seen["argv"] == ["setup.py", "bdist_wheel", "--dist-dir", str(made.layout.dist)]
    assert seen["cwd"] == str(made.layout.source)
    assert seen["flags"] == ["-O3", "-std=c++20"]
    assert seen["target"] == "seen"
    assert (made.layout.source / "kept" / "a.cu").exists()
    assert not (made.layout.source / "big").exists()


def test_the_script_imports_nothing_from_where_it_is_started(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("pip", "venv", "runpy", "logging", "base64", "hashlib", "shutil", "tarfile"):
        (here / f"{name}.py").write_text("raise SystemExit('planted')\n")
    archive = tmp_path / "x-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(project(tmp_path / "x-1.0"), "x-1.0")
    made = plan(Order(recipe="flash-attn", root=tmp_path / "root"), linux(tmp_path))
    made = replace(
        made,
        target=sys.executable,
        python=".".join(map(str, sys.version_info[:3])),
        source=Source(
            kind="sdist",
            location=str(archive),
            sha256=hashlib.sha256(archive.read_bytes()).hexdigest(),
        ),
        edits=(),
        requirements=("pip",),  # it is there already, so that nothing is fetched
    )
    file = tmp_path / "build.sh"
    file.write_text(script(made, "sh"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["/bin/sh", str(file)], env=env, cwd=here, capture_output=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (made.layout.dist / "seen.json").is_file()


@pytest.mark.parametrize("path", [":/usr/bin:/bin", ".:/usr/bin:/bin"])
def test_the_script_starts_nothing_from_where_it_is_started(tmp_path: Path, path: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("git", "mkdir", "sh"):
        (here / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/planted\n")
        (here / name).chmod(0o755)
    source = Source(kind="git", location=str(tmp_path / "nothing"), ref="v1")
    made = plan(Order(recipe="flash-attn", root=tmp_path / "root"), linux(tmp_path))
    file = tmp_path / "build.sh"
    file.write_text(script(replace(made, source=source), "sh"))
    done = subprocess.run(
        ["/bin/sh", str(file)],
        env={"PATH": path, "HOME": str(tmp_path)},
        cwd=here, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert not (tmp_path / "planted").exists()
    assert (made.layout.source).is_dir()
    assert done.returncode != 0  # there is no such repository, or no git


HEADS: dict[Shell, list[str]] = {
    "cmd": [
        "@echo off",
        "setlocal DisableDelayedExpansion",
        'cd /d "%SystemRoot%\\System32"',
        "chcp 65001 >nul",
    ],
    "powershell": [
        "$ErrorActionPreference = 'Stop'",
        'Set-Location -LiteralPath "$env:SystemRoot\\System32"',
    ],
}


@pytest.mark.parametrize("shell", HEADS)
def test_a_script_for_windows_begins_by_leaving_the_folder(tmp_path: Path, shell: Shell) -> None:
    """That no planted program is started then: tests/winlane/test_build.py, in cmd."""
    head = HEADS[shell]
    assert script(on_windows(tmp_path), shell).split("\r\n")[: len(head)] == head


class Together(BaseHTTPRequestHandler):
    """Answers when two have asked, so that both fetch at the same time."""

    barrier = Barrier(2)

    def do_GET(self) -> None:
        self.barrier.wait(PATIENCE)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"content" * 100_000)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def fetch(file: Path, sha256: str, address: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-I", "-B", "-c", programs.FETCH, str(file), sha256, address]
    return subprocess.Popen(words, stderr=subprocess.PIPE)


def test_two_scripts_fetch_a_file_side_by_side(tmp_path: Path) -> None:
    file = tmp_path / "x.whl"
    content = b"content" * 100_000
    with ThreadingHTTPServer(("127.0.0.1", 0), Together) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/x.whl"
        both = [fetch(file, hashlib.sha256(content).hexdigest(), address) for _ in range(2)]
        ends = [(each.communicate(timeout=PATIENCE)[1], each.returncode) for each in both]
        server.shutdown()
    assert ends == [(b"", 0)] * 2
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


def test_what_has_the_wrong_hash_or_does_not_come_is_not_found_by_the_next_run(
    tmp_path: Path,
) -> None:
    there = tmp_path / "there.whl"
    there.write_bytes(b"right")
    file = tmp_path / "files" / "x.whl"
    file.parent.mkdir()
    right = hashlib.sha256(b"right").hexdigest()
    for sha256, address, words in (
        ("0" * 64, there.as_uri(), b"wrong hash: "),
        (right, (tmp_path / "gone").as_uri(), b"URLError"),
    ):
        failed = fetch(file, sha256, address)
        assert words in failed.communicate(timeout=PATIENCE)[1]
        assert failed.returncode == 1
        assert list(file.parent.iterdir()) == []
    fetched = fetch(file, right, there.as_uri())
    assert fetched.communicate(timeout=PATIENCE)[1] == b""
    assert (fetched.returncode, file.read_bytes()) == (0, b"right")


words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=20)


@given(values=st.lists(words, min_size=1, max_size=4))
def test_sh_reads_every_value_as_it_is(values: list[str]) -> None:
    environment = {f"V{n}": value for n, value in enumerate(values)}
    made = plan(Order(recipe="flash-attn"), linux_of_the_session())
    lines = script(replace(made, environment=environment), "sh").split("\n")
    for name, value in environment.items():
        (line,) = [found for found in lines if found.startswith(f"export {name}=")]
        assert shlex.split(line) == ["export", f"{name}={value}"]


@given(values=st.lists(words, min_size=1, max_size=4))
def test_cmd_gets_every_value_whole_or_not_at_all(values: list[str]) -> None:
    environment = {f"V{n}": value for n, value in enumerate(values)}
    made = replace(windows_of_the_session(), environment=environment)
    try:
        lines = script(made, "cmd").split("\r\n")
    except ScriptError:
        assert any(set(value) & set('"&|<>^') or not value.isprintable() for value in values)
        return
    for name, value in environment.items():
        assert f'set "{name}={value.replace("%", "%%")}"' in lines


@cache
def windows_of_the_session() -> BuildPlan:
    return plan(Order(recipe="flash-attn"), windows(Path(tempfile.mkdtemp())))


@cache
def linux_of_the_session() -> Machine:
    return linux(Path(tempfile.mkdtemp()))


def pretend_environment(venv: Path) -> None:
    """What an earlier run has made, with this very Python in it."""
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    minor = ".".join(map(str, sys.version_info[:2]))
    (venv / "lib" / f"python{minor}" / "site-packages").mkdir(parents=True)


ELSEWHERE = ("/../../evil", "//evil", "/C:/evil", "//tmp/evil", "/a/../../../evil")


@pytest.mark.parametrize("program", [programs.UNPACK_TAR, programs.UNPACK_WHEEL])
def test_what_a_script_unpacks_stays_in_its_folder(tmp_path: Path, program: str) -> None:
    wheel = program is programs.UNPACK_WHEEL
    top = "nvidia/cu13" if wheel else "x-1.0"
    names = [top + name for name in ("/good", *ELSEWHERE)]
    file = tmp_path / "archive"
    if wheel:
        with zipfile.ZipFile(file, "w") as made:
            for name in names:
                made.writestr(name, "x")
    else:
        with tarfile.open(file, "w:gz") as packed:
            for name in names:
                packed.addfile(tarfile.TarInfo(name))
    to = tmp_path / "in" / "to"
    subprocess.run([sys.executable, "-c", program, file, to], check=True, timeout=60)
    assert [p.name for p in tmp_path.rglob("*") if p.is_file() and p != file] == ["good"]


def test_the_script_puts_a_toolkit_together(tmp_path: Path) -> None:
    """With a stand-in for NVIDIA's wheel; the real ones are in tests/winlane."""
    wheel = tmp_path / "part.whl"
    names = ("bin/nvcc", "nvvm/bin/cicc", "include/cuda.h", "include/crt/host_config.h",
             "lib/libcudart.so.13")  # fmt: skip
    with zipfile.ZipFile(wheel, "w") as file:
        for name in names:
            file.writestr(f"nvidia/cu13/{name}", "#define CUDA_VERSION 13000\n")
        file.writestr("x.dist-info/RECORD", "")
    made = plan(Order(recipe="flash-attn", cuda="assembled"), linux(tmp_path))
    assert made.refusals
    machine = linux(tmp_path, torch=replace(linux(tmp_path).facts.torch, cuda="13.0"))  # type: ignore[type-var]
    made = plan(Order(recipe="flash-attn", root=tmp_path / "root"), machine)
    assert made.cuda is not None
    part = PinnedFile(
        name="x",
        version="1",
        file=wheel.name,
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
    )
    made = replace(
        made,
        target=sys.executable,
        python=".".join(map(str, sys.version_info[:3])),
        cuda=replace(made.cuda, parts=(part,)),
        source=Source(kind="folder", location=str(project(tmp_path / "p"))),
        edits=(),
        requirements=(),
    )
    pretend_environment(made.layout.venv)
    file_ = tmp_path / "build.sh"
    file_.write_text(script(made, "sh", lambda: {wheel.name: wheel.as_uri()}))
    done = subprocess.run(
        ["/bin/sh", str(file_)],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    host = replace(machine.host, env=replace(machine.host.env, data={"CUDA_HOME": made.cuda.path}))
    found = find_cuda_toolkits(None, host)[0]
    assert found.version == "13.0"
    assert found.missing == ("ptxas",)
    damaged = replace(part, sha256="0" * 64)
    made = replace(made, cuda=replace(made.cuda, parts=(damaged,)))  # type: ignore[type-var]
    file_.write_text(script(made, "sh"))
    done = subprocess.run(["/bin/sh", str(file_)], capture_output=True, timeout=180, check=False)
    assert done.returncode != 0
    assert b"wrong hash" in done.stderr

"""Scripts of plans: the commands that the runner runs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import linux, windows

from tritonwin.build.command import Shell, command, inherited, script
from tritonwin.build.order import Order
from tritonwin.build.plan import BuildPlan
from tritonwin.build.planner import plan
from tritonwin.system.host import Host
from tritonwin.system.shells import ScriptError

HOST = Host.this_machine()
# a setup.py that says what it was started with
SETUP = """\
import json, os, sys
with open(os.path.join(sys.argv[-1], "seen.json"), "w") as file:
    json.dump({"environ": dict(os.environ), "argv": sys.argv, "cwd": os.getcwd()}, file)
"""


def on_windows(tmp_path: Path) -> BuildPlan:
    return plan(Order(recipe="flash-attn"), windows(tmp_path))


def lines_of(made: BuildPlan, shell: Shell = "cmd") -> list[str]:
    return script(made, shell, HOST).split("\r\n" if shell == "cmd" else "\n")


def test_a_script_for_windows(tmp_path: Path) -> None:
    """It leaves its folder first: that no planted program is started, tests/winlane/test_build.py."""
    text = script(on_windows(tmp_path), "cmd", HOST)
    assert text.count("\r\n") == text.count("\n")
    lines = text.split("\r\n")
    assert lines[:4] == [
        "@echo off",
        "setlocal DisableDelayedExpansion",
        'cd /d "%SystemRoot%\\System32"',
        "chcp 65001 >nul",
    ]
    assert 'set "MAX_JOBS=8"' in lines
    assert not any(line.startswith("set ") and not line.startswith('set "') for line in lines)
    assert not any("&&" in line and "set " in line for line in lines)
    assert "-vcvars_ver=14.44.35207" in text
    assert all(line == line.rstrip() for line in lines)
    # what is set is set after what is unset
    assert lines.index('set "NVCC_APPEND_FLAGS="') < lines.index(
        'set "NVCC_APPEND_FLAGS=-DUSE_CUDA=1 -D_USE_MATH_DEFINES"'
    )


@pytest.mark.parametrize("shell", get_args(Shell))
def test_a_script_is_the_command_that_the_runner_starts(tmp_path: Path, shell: Shell) -> None:
    machine = windows(tmp_path) if shell == "cmd" else linux(tmp_path)
    made = plan(Order(recipe="flash-attn"), machine)
    text = script(made, shell, HOST)
    start = command(made, HOST)
    quoted = [f'"{word}"' if shell == "cmd" else shlex.quote(word) for word in start.argv]
    assert text.splitlines()[-2 if shell == "cmd" else -1] == " ".join(quoted)
    for name, value in start.variables.items():
        escaped = value.replace("%", "%%") if shell == "cmd" else shlex.quote(value)
        assert f"{name}={escaped}" in text
    assert start.folder in text


def test_percent_signs_are_doubled_in_a_batch(tmp_path: Path) -> None:
    made = replace(on_windows(tmp_path), environment={"A": "50%"}, command=("50%",))
    lines = lines_of(made)
    assert 'set "A=50%%"' in lines
    assert any(line.endswith('"50%%"') for line in lines)


@pytest.mark.parametrize(
    "change", [{"environment": {"A": 'a" & del b'}}, {"command": ('say "x"',)}]
)
def test_what_a_batch_cannot_say_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    made = replace(on_windows(tmp_path), **change)  # type: ignore[arg-type]
    with pytest.raises(ScriptError, match="cannot be written into a batch"):
        script(made, "cmd", HOST)


def test_a_line_that_cmd_would_not_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="8,191"):
        script(replace(on_windows(tmp_path), command=("a",) * 3000), "cmd", HOST)


def test_a_refused_plan_has_no_script(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), windows(tmp_path, msvc=()))
    with pytest.raises(ScriptError) as caught:
        script(made, "cmd", HOST)
    assert caught.value.help


@pytest.mark.parametrize("shell", get_args(Shell))
def test_a_script_is_for_its_system(tmp_path: Path, shell: Shell) -> None:
    made = replace(on_windows(tmp_path), windows=shell == "sh")
    with pytest.raises(ScriptError, match="does not run"):
        script(made, shell, HOST)


def test_the_script_for_sh_starts_what_the_runner_would(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn", root=tmp_path / "it's-$HOME"), linux(tmp_path))
    made = replace(made, environment={**made.environment, "QUOTED": "it's $HOME `x`"})
    for folder in (made.layout.source, made.layout.dist, made.layout.python.parent):
        folder.mkdir(parents=True)
    (made.layout.source / "setup.py").write_text(SETUP)
    made.layout.python.symlink_to(sys.executable)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MAX_JOBS": "64 ", "CL": "/x",
           "PYTHONPATH": "/x"}  # fmt: skip
    here = tmp_path / "here"
    here.mkdir()
    (here / "true").write_text("#!/bin/sh\nexit 1\n")
    (here / "true").chmod(0o755)
    file = tmp_path / "build.sh"
    file.write_text(script(made, "sh", HOST))
    done = subprocess.run(
        ["/bin/sh", str(file)],
        env={**env, "PATH": f".:{env['PATH']}"},
        cwd=here, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads((made.layout.dist / "seen.json").read_text())
    host = replace(HOST, env=replace(HOST.env, data=env))
    wanted = command(made, host).environment(inherited(made, host))
    for name in wanted.keys() - {"PATH", "SOURCE_DATE_EPOCH"}:
        assert seen["environ"][name] == wanted[name]
    assert not {"CL", "PYTHONPATH"} & seen["environ"].keys()
    assert seen["argv"] == ["setup.py", "bdist_wheel", "--dist-dir", str(made.layout.dist)]
    assert seen["cwd"] == str(made.layout.source)


words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=20)
words = words.filter(lambda word: word.strip("\"'") == word)


@given(values=st.lists(words, min_size=1, max_size=4))
def test_sh_reads_every_value_as_it_is(values: list[str]) -> None:
    environment = {f"V{n}": value for n, value in enumerate(values)}
    lines = lines_of(replace(one_on_linux(), environment=environment), "sh")
    for name, value in environment.items():
        (line,) = [found for found in lines if found.startswith(f"export {name}=")]
        assert shlex.split(line) == ["export", f"{name}={value}"]


@given(values=st.lists(words, min_size=1, max_size=4))
def test_cmd_gets_every_value_whole_or_not_at_all(values: list[str]) -> None:
    environment = {f"V{n}": value for n, value in enumerate(values)}
    try:
        lines = lines_of(replace(one_on_windows(), environment=environment))
    except ScriptError:
        assert any(set(value) & set('"&|<>^') for value in values)
        return
    for name, value in environment.items():
        assert f'set "{name}={value.replace("%", "%%")}"' in lines


@cache
def one_on_windows() -> BuildPlan:
    return on_windows(Path(tempfile.mkdtemp()))


@cache
def one_on_linux() -> BuildPlan:
    return plan(Order(recipe="flash-attn"), linux(Path(tempfile.mkdtemp())))

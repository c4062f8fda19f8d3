"""Scripts of plans: the commands that the runner runs. A whole one stands in corpus/plans.toml."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import windows

from tritonwin.build.command import argv, environment, script
from tritonwin.build.order import Order
from tritonwin.build.planner import plan
from tritonwin.build.records import BuildPlan, Obstacle
from tritonwin.system.host import Host
from tritonwin.system.shells import ScriptError

HOST = Host.this_machine()


def on_windows(tmp_path: Path) -> BuildPlan:
    return plan(Order(recipe="flash-attn"), windows(tmp_path))


def lines_of(made: BuildPlan) -> list[str]:
    return script(made, HOST).split("\r\n")


def test_a_script_is_the_command_that_the_runner_starts(tmp_path: Path) -> None:
    made = on_windows(tmp_path)
    text = script(made, HOST)
    assert text.splitlines()[-2] == " ".join(f'"{word}"' for word in argv(made))
    for name, value in environment(made, HOST, {"PATH": "%PATH%"}).items():
        assert f"{name}={value if name == 'PATH' else value.replace('%', '%%')}" in text
    assert str(made.project) in text


def test_percent_signs_are_doubled_in_a_batch(tmp_path: Path) -> None:
    made = replace(on_windows(tmp_path), environment={"A": "50%"}, command=("50%",))
    lines = lines_of(made)
    assert 'set "A=50%%"' in lines
    assert any(line.endswith('"50%%"') for line in lines)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"environment": {"A": 'a" & del b'}}, "cannot be written into a batch"),
        ({"command": ('say "x"',)}, "cannot be written into a batch"),
        ({"command": ("a",) * 3000}, "8,191"),
        ({"windows": False}, "does not run"),
        ({"refusals": (Obstacle(problem="", message="m", help="h"),)}, "refused"),
    ],
)
def test_what_a_batch_cannot_say_is_refused(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    with pytest.raises(ScriptError, match=why) as caught:
        script(replace(on_windows(tmp_path), **change), HOST)
    assert caught.value.help


words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=20)
words = words.filter(lambda word: word.strip("\"'") == word)


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

"""Commands that can be typed as they are, however tritonwin was started."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from urllib.request import url2pathname

import pytest
from cases import cases

from tritonwin.cli.app import run
from tritonwin.output import html, invocation
from tritonwin.output.blocks import Fold, Section, line
from tritonwin.output.terminal import print_note
from tritonwin.system.host import Environment

EMBEDDED = r".\python_embeded\python.exe"
PYZ = f"{EMBEDDED} tritonwin.pyz"


def started(
    words: list[str], script: str, path: str = "", prefix: str = "/usr", source: str | None = None
) -> str:
    environment = Environment({"PATH": path})
    return invocation.invocation(words, script, environment, prefix, lambda: source)


@pytest.mark.parametrize(("words", "script", "typed"), cases("invocations.toml", "typed"))
def test_what_was_typed(words: list[str], script: str, typed: str) -> None:
    assert started(words, script) == typed


def test_the_command_of_an_installation_counts_where_path_leads_to_it(tmp_path: Path) -> None:
    script = str(tmp_path / "tritonwin")
    words = ["python", script, "doctor"]
    assert started(words, script, path=str(tmp_path)) == "tritonwin"
    assert started(words, script, path=os.sep) == script


def test_the_environment_of_uvx_is_not_named() -> None:
    cache = r"C:\Users\x\AppData\Local\uv\cache\archive-v0\7f"
    script = rf"{cache}\Scripts\tritonwin.exe"
    assert (
        started([rf"{cache}\Scripts\python.exe", script], script, prefix=cache) == "uvx tritonwin"
    )
    # there may be no such package in the index, or somebody else's
    words = [rf"{cache}\Scripts\python.exe", script]
    assert (
        started(words, script, prefix=cache, source="D:\\my checkout")
        == 'uvx --from "D:\\my checkout" tritonwin'
    )


@pytest.mark.parametrize(("direct_url", "named"), cases("invocations.toml", "origins"))
def test_where_an_installation_came_from(direct_url: str, named: str) -> None:
    local = re.sub("(?<=^file://).*", lambda path: url2pathname(path[0]), named)
    assert invocation.origin(direct_url) == (local.removeprefix("file://") or None)


def test_an_installation_of_an_index_came_from_nowhere_else() -> None:
    assert invocation.origin(None) is None


@pytest.fixture
def from_the_single_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invocation, "_of_this_process", lambda: PYZ)


@pytest.mark.usefixtures("from_the_single_file")
@pytest.mark.parametrize(("text", "said"), cases("invocations.toml", "spoken"))
def test_commands_are_put_into_words_and_sentences_are_not(text: str, said: str) -> None:
    assert invocation.spoken(text) == said.format(pyz=PYZ)


@pytest.mark.usefixtures("from_the_single_file")
def test_what_is_printed_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    print_note("See it: tritonwin doctor")
    assert capsys.readouterr().out == f"See it: {PYZ} doctor\n"
    assert run(["undo", "nothing", "--yes"]) == 2
    assert f"List them: {PYZ} undo --list" in capsys.readouterr().err


@pytest.mark.usefixtures("from_the_single_file")
def test_a_page_about_another_machine_names_no_command_of_this_one() -> None:
    told = (line("help: tritonwin doctor"),)
    parts = Section("x", "problem", "x", "bad", told, told), Fold("more", told)
    assert PYZ in html.rendered(parts)
    assert PYZ not in html.rendered(parts, own=False)


@pytest.mark.usefixtures("from_the_single_file")
@pytest.mark.parametrize(("here", "command", "shown"), cases("invocations.toml", "relative"))
def test_paths_below_the_current_folder_are_relative(
    monkeypatch: pytest.MonkeyPatch, here: str, command: str, shown: str
) -> None:
    monkeypatch.setattr(os, "getcwd", lambda: here)
    monkeypatch.setattr(sys, "argv", ["tritonwin.pyz"])
    monkeypatch.setattr(sys, "executable", "C:\\My ComfyUI\\python_embeded\\python.exe")
    assert invocation.typed(command) == shown.format(pyz=PYZ)

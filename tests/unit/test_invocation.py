"""Commands that can be typed as they are, however tritonwin was started."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from urllib.request import url2pathname

import pytest

from tritonwin.cli.app import run
from tritonwin.output import invocation
from tritonwin.output.terminal import print_note
from tritonwin.system.host import Environment

EMBEDDED = r".\python_embeded\python.exe"
PYZ = f"{EMBEDDED} tritonwin.pyz"


def started(
    words: list[str], script: str, path: str = "", prefix: str = "/usr", source: str | None = None
) -> str:
    environment = Environment({"PATH": path})
    return invocation.invocation(words, script, environment, prefix, lambda: source)


@pytest.mark.parametrize(
    ("words", "script", "typed"),
    [
        ([EMBEDDED, "tritonwin.pyz", "doctor"], "tritonwin.pyz", PYZ),
        ([EMBEDDED, "-s", "tritonwin.pyz", "fix"], "tritonwin.pyz", f"{EMBEDDED} -s tritonwin.pyz"),
        (["python", "D:\\my tools\\tritonwin.pyz"], "D:\\my tools\\tritonwin.pyz",
         'python "D:\\my tools\\tritonwin.pyz"'),
        ([r"C:\Program Files\python.exe", "t.pyz", "undo"], "t.pyz",
         r'"C:\Program Files\python.exe" t.pyz'),
        ([EMBEDDED, "C:\\app\\tritonwin.bat", "fix"], "C:\\app\\tritonwin.bat",
         "C:\\app\\tritonwin.bat"),
        (["python", "-m", "tritonwin", "doctor"], "/site/tritonwin/__main__.py",
         "python -m tritonwin"),
        # a word that ends its quotes in some shell
        ([r"C:\100%\python.exe", "tritonwin.pyz"], "tritonwin.pyz", "tritonwin"),
        # somebody else's program, such as a test
        (["python", "-m", "pytest"], "/site/pytest/__main__.py", "tritonwin"),
        (["python", "-c", "pass"], "-c", "tritonwin"),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("direct_url", "named"),
    [
        (None, None),
        ("{}", None),
        (
            '{"url": "file:///home/a%20b/%C3%BC", "dir_info": {}}',
            url2pathname("/home/a%20b/%C3%BC"),
        ),
        ('{"url": "https://x.org/t.whl", "archive_info": {}}', "https://x.org/t.whl"),
        (
            '{"url": "https://x.org/t.git", "vcs_info": {"vcs": "git", "commit_id": "0a"}}',
            "git+https://x.org/t.git@0a",
        ),
    ],
)
def test_where_an_installation_came_from(direct_url: str | None, named: str | None) -> None:
    assert invocation.origin(direct_url) == named


@pytest.fixture
def from_the_single_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invocation, "_of_this_process", lambda: PYZ)


@pytest.mark.usefixtures("from_the_single_file")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("      tritonwin undo 1\n", f"      {PYZ} undo 1\n"),
        ("\x1b[1m      tritonwin fix\x1b[0m", f"\x1b[1m      {PYZ} fix\x1b[0m"),
        ("To give it back: tritonwin undo 1", f"To give it back: {PYZ} undo 1"),
        ("a\ntritonwin patch diff", f"a\n{PYZ} patch diff"),
        ("Correct it with tritonwin patch apply.", "Correct it with tritonwin patch apply."),
        ("error: tritonwin changed nothing", "error: tritonwin changed nothing"),
        ("tritonwin 0.1.0", "tritonwin 0.1.0"),
    ],
)
def test_commands_are_put_into_words_and_sentences_are_not(text: str, said: str) -> None:
    assert invocation.spoken(text) == said


@pytest.mark.usefixtures("from_the_single_file")
def test_what_is_printed_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    print_note("See it: tritonwin doctor")
    assert capsys.readouterr().out == f"See it: {PYZ} doctor\n"
    assert run(["undo", "--json", "x", "--only"]) == 2
    assert run(["fix", "--only", "nothing"]) == 2
    assert f"List them: {PYZ} doctor --list-checks" in capsys.readouterr().err


@pytest.mark.usefixtures("from_the_single_file")
def test_a_stream_stays_a_stream() -> None:
    plain = io.StringIO()
    stream = invocation.speaking(plain)
    assert not stream.isatty()
    stream.write("tritonwin fix")
    assert plain.getvalue() == f"{PYZ} fix"


@pytest.mark.usefixtures("from_the_single_file")
@pytest.mark.parametrize(
    ("here", "command", "shown"),
    [
        ("C:\\My ComfyUI", r'"C:\my comfyui\python_embeded\python.exe" -m pip install "x<3"',
         r'.\python_embeded\python.exe -m pip install "x<3"'),
        ("C:\\My ComfyUI", r'"C:\My ComfyUI\my py\python.exe" x', r'".\my py\python.exe" x'),
        ("C:\\ComfyUI", r"C:\ComfyUI2\python.exe x.py", r"C:\ComfyUI2\python.exe x.py"),
        ("D:\\", r"tritonwin fix --python D:\py\python.exe",
         rf"{PYZ} fix --python .\py\python.exe"),
        ("/home/me", "/home/me/venv/bin/python -m pip list", "./venv/bin/python -m pip list"),
        ("/home/me", "/home/ME/venv/bin/python", "/home/ME/venv/bin/python"),
        ("C:\\My ComfyUI", "python -m pip list", r".\python_embeded\python.exe -m pip list"),
        ("D:\\", "python -m pip list", r'"C:\My ComfyUI\python_embeded\python.exe" -m pip list'),
    ],
)  # fmt: skip
def test_paths_below_the_current_folder_are_relative(
    monkeypatch: pytest.MonkeyPatch, here: str, command: str, shown: str
) -> None:
    monkeypatch.setattr(os, "getcwd", lambda: here)
    monkeypatch.setattr(sys, "argv", ["tritonwin.pyz"])
    monkeypatch.setattr(sys, "executable", "C:\\My ComfyUI\\python_embeded\\python.exe")
    assert invocation.typed(command) == shown

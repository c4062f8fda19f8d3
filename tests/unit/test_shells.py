"""One word of a command line, whatever the shell; or none."""

from __future__ import annotations

import pytest

from tritonwin.system.host import Environment, merged, with_folders
from tritonwin.system.shells import ScriptError, batch_call, batch_value, batch_word, word


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        (r"C:\ComfyUI\python.exe", r"C:\ComfyUI\python.exe"),
        (r"C:\my apps\python.exe", r'"C:\my apps\python.exe"'),
        (r"C:\a&b\python.exe", r'"C:\a&b\python.exe"'),
        (r"C:\用户\python.exe", r"C:\用户\python.exe"),
        (r"C:\a(1)\python.exe", r'"C:\a(1)\python.exe"'),
        ('C:\\x" & calc & "\\python.exe', None),
        (r"C:\%TEMP%\python.exe", None),
        ("/tmp/$(reboot)/python", None),
        ("/tmp/`reboot`/python", None),
        ("C:\\a\ncalc\n\\python.exe", None),
        ("C:\\a b\\", None),
    ],
)
def test_a_path_is_one_word_or_none(path: str, quoted: str | None) -> None:
    assert word(path) == quoted


@pytest.mark.parametrize(
    ("text", "quoted", "called", "value"),
    [
        ("a b", '"a b"', '"a b"', "a b"),
        ("100%", '"100%%"', None, "100%%"),
        ("a^b", '"a^b"', None, "a^b"),
        ("C:\\a\\", '"C:\\a\\\\"', '"C:\\a\\\\"', "C:\\a\\"),
        ('say "hi"', None, None, 'say "hi"'),
        ('x" & calc & "', None, None, None),
        ("a & b", '"a & b"', '"a & b"', "a & b"),
        ("two\nlines", None, None, None),
    ],
)
def test_a_batch_file_gets_whole_words(
    text: str, quoted: str | None, called: str | None, value: str | None
) -> None:
    for write, expected in ((batch_word, quoted), (batch_call, called), (batch_value, value)):
        if expected is None:
            with pytest.raises(ScriptError):
                write(text)
        else:
            assert write(text) == expected


def test_names_of_variables_meet_whatever_their_case() -> None:
    data = {"Path": "a", "KEEP": "1"}
    assert merged(data, {"PATH": "b", "keep": None}) == {"PATH": "b"}
    assert merged(data, {"PATH": "b", "keep": None}, windows=False) == {**data, "PATH": "b"}
    assert with_folders(data, ["x", "y"]) == {"Path": "x;y;a", "KEEP": "1"}
    assert with_folders(data, ["x"], windows=False) == {**data, "PATH": "x"}
    assert Environment(merged({}, {"A": ""})).get("A") == ""

"""One word of a command line, whatever the shell; or none."""

from __future__ import annotations

import pytest
from cases import cases

from tritonwin.system.host import Environment, merged, with_folders
from tritonwin.system.shells import ScriptError, batch_call, batch_value, batch_word, word


@pytest.mark.parametrize(("path", "quoted"), cases("shells.toml", "words"))
def test_a_path_is_one_word_or_none(path: str, quoted: str) -> None:
    assert (word(path) or "") == quoted


@pytest.mark.parametrize(("text", "quoted", "called", "value"), cases("shells.toml", "batch"))
def test_a_batch_file_gets_whole_words(text: str, quoted: str, called: str, value: str) -> None:
    for write, expected in ((batch_word, quoted), (batch_call, called), (batch_value, value)):
        if not expected:
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

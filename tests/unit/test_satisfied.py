"""The requirements of wheels, held against a target, without pip; and by pip's own library."""

from __future__ import annotations

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker, default_environment

from tritonwin.facts.records import Interpreter
from tritonwin.support.install_plan import marker_environment, satisfied

WINDOWS = Interpreter(
    executable=r"C:\py\python.exe",
    source="--python",
    kind="embedded",
    version="3.12.9",
    platform_tag="win_amd64",
    machine="AMD64",
)
HAVE = {"torch": "2.9.1+cu130", "setuptools": "80.1", "numpy": "2.4.0rc1"}


@pytest.mark.parametrize(("line", "there"), cases("requirements.toml", "one"))
def test_one_requirement(line: str, there: bool) -> None:
    assert satisfied([line], WINDOWS, HAVE) is there
    assert satisfied(["torch", line], WINDOWS, HAVE) is there


@pytest.mark.parametrize("field", ["version", "platform_tag", "machine"])
def test_a_target_of_which_little_is_known(field: str) -> None:
    known = {**vars(WINDOWS), field: None}
    assert not satisfied(["torch"], Interpreter(**known), HAVE)


def test_every_name_that_a_marker_may_ask_for_is_told() -> None:
    told = marker_environment(WINDOWS)
    assert told is not None
    assert set(told) - {"extra"} == set(default_environment()) - {
        "platform_version",
        "platform_release",
    }


@given(st.text())
def test_no_text_is_an_accident(text: str) -> None:
    assert satisfied([text], WINDOWS, HAVE) in {True, False}


def test_markers_are_of_the_target_not_of_this_system() -> None:
    told = marker_environment(WINDOWS)
    assert told is not None
    assert Marker("os_name == 'nt' and platform_system == 'Windows'").evaluate(dict(told))

from __future__ import annotations

from typing import get_args

import pytest
from cases import cases
from healthy import changed, variable

from tritonwin.facts.system import Kind, flaws, known, known_variables
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose


def test_the_table_is_in_order() -> None:
    entries = known_variables()
    names = [entry.name.upper() for entry in entries]
    assert len(set(names)) == len(names)
    assert {entry.kind for entry in entries} == set(get_args(Kind))
    assert all(entry.purpose and entry.purpose.isascii() for entry in entries)
    # an entry that an earlier pattern swallows would never be read
    assert [known(entry.name.replace("*", "X")) for entry in entries] == list(entries)


@pytest.mark.parametrize(("name", "kind"), cases("variables.toml", "known"))
def test_known(name: str, kind: str) -> None:
    entry = known(name)
    assert entry.kind == kind


@pytest.mark.parametrize("name", ["PATH", "USERNAME", "HF_TOKEN", "CCC", "X_TRITON"])
def test_what_is_none_of_our_business(name: str) -> None:
    assert known(name) is None


@pytest.mark.parametrize(("value", "kind", "expected"), cases("variables.toml", "flaws"))
def test_flaws(value: str, kind: Kind, expected: list[str]) -> None:
    assert list(flaws(value, kind)) == expected


def test_a_blank_in_a_variable_of_builds_is_a_problem_though_it_prints_nothing() -> None:
    names = ("NVCC_THREADS", "BUILD_TARGET", "MAX_JOBS", "FLASH_ATTN_CUDA_ARCHS",
             "FLASH_ATTENTION_FORCE_BUILD", "DISTUTILS_USE_SDK", "TRITON_OFFLINE_BUILD")  # fmt: skip
    for name in names:
        facts = changed(variables=(variable(name, "1 ", "trailing-blank"),))
        found = {p.id for p in diagnose(facts, CHECKS).problems}
        assert "build-variable-blanks" in found, name

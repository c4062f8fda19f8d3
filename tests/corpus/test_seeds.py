"""Every error that the documents of the start name is explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonwin.problems.explain import explain_lines
from tritonwin.system import toml

SEEDS = toml.loads(Path(__file__).with_name("seeds.toml").read_text("utf-8"))
ITEMS = SEEDS["item"]


@pytest.mark.parametrize(
    ("log", "ids"),
    [
        pytest.param(item["log"], item["ids"], id=f"{item['seed']}: {item['section']}")
        for item in ITEMS
    ],
)
def test_an_error_of_the_seeds_is_explained(log: str, ids: list[str]) -> None:
    problems = explain_lines(log.strip().split("\n")).problems
    assert [p.id for p in problems][:1] in [[problem] for problem in ids]


@pytest.mark.parametrize("literal", SEEDS["literal"], ids=lambda literal: literal["text"])
def test_a_text_of_the_seeds_alone_is_explained_or_silent_for_a_reason(
    literal: dict[str, str | list[str]],
) -> None:
    found = [p.id for p in explain_lines([str(literal["text"])]).problems]
    assert found[:1] == literal.get("ids", [])[:1]
    assert found or literal["silent"]

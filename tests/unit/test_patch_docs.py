"""The pages of docs/patch are what the rules and the sources of every release say now."""

from __future__ import annotations

from pathlib import Path

import pytest
import write_patch_docs
from triton_trees import sources

from tritonwin.patch.rules import RULES

RECIPE = Path(write_patch_docs.FOLDER).parent / "known-recipe.md"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    for flavour, version in write_patch_docs.releases():
        # skips the test where they cannot be fetched
        sources(f"windows:{version}" if flavour == "fork" else version)
    return write_patch_docs.pages()


def test_pages_are_fresh(pages: dict[str, str]) -> None:
    found = {path.name: path.read_text("utf-8") for path in write_patch_docs.FOLDER.glob("*.md")}
    assert sorted(found) == sorted(pages)
    stale = [name for name, text in pages.items() if found[name] != text]
    assert stale == [], "run: python tools/write_patch_docs.py"


def test_no_page_shows_a_form_that_its_rule_does_not_know(pages: dict[str, str]) -> None:
    assert [name for name, text in pages.items() if "unknown form" in text] == []


def test_the_page_on_the_known_recipe_names_rules_that_exist() -> None:
    text = RECIPE.read_text("utf-8")
    named = {word.split(".md")[0] for word in text.split("](patch/")[1:]}
    assert {name for name in named if name != "README"} <= {rule.id for rule in RULES}
    assert len(named) > 10

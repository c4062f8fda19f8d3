"""The pages of the documentation site, before mkdocs: tools/dev.py builds it and checks the rest."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

import build_site
import pytest
import site_pages

from tritonwin import COMMANDS
from tritonwin.patch.rules import RULES
from tritonwin.problems import catalogue
from tritonwin.problems.checks import CHECKS

PAGES = build_site.pages()
SOURCES = sorted(build_site.DOCS.rglob("*.md"))
ENTRIES = catalogue.load().entries


@pytest.mark.parametrize("problem", ENTRIES)
def test_a_problem_has_a_page_with_all_that_is_known(problem: str) -> None:
    entry = ENTRIES[problem]
    page = PAGES[f"problems/{problem}.md"]
    checked = problem in {c.id for c in CHECKS}
    assert (f"tritonwin doctor --only {problem}" in page) == checked
    assert ("tritonwin explain LOG" in page) == bool(entry.signatures)
    assert (f"tritonwin fix --only {problem}" in page) == bool(entry.actions)
    assert "```text" in page or not entry.signatures
    assert all(address in page for address in entry.references)
    for command in entry.remedy.commands:
        shown = re.sub(r"{([a-z_]+)}", lambda m: m[1].upper(), command)
        assert f"    {shown}\n" in page or shown.startswith("tritonwin fix")
    words = re.sub(r"```text\n.*?```", "", page, flags=re.DOTALL)
    assert not re.search(r"\{[a-z_]+\}|\(\?[:P]", words)


def test_every_rule_application_and_command_is_there() -> None:
    assert [rule.id for rule in RULES if f"patch/{rule.id}.md" not in PAGES] == []
    assert [
        a["page"] for a in build_site.site()["app"] if f"apps/{a['page']}.md" not in PAGES
    ] == []
    headings = re.findall(r"^## (.*)$", PAGES["commands.md"], re.MULTILINE)
    assert headings == list(COMMANDS)
    assert "### patch apply" in PAGES["commands.md"]


def test_every_table_is_filled_and_used() -> None:
    used = re.findall(r"<!-- table: (\w+) -->", "".join(p.read_text("utf-8") for p in SOURCES))
    assert sorted(used) == sorted(site_pages.tables(build_site.site()))
    assert not any("<!-- table:" in text for text in PAGES.values())


def test_no_page_is_endless() -> None:
    """1,500 words are ten minutes; the changelog and pages from data are looked things up in."""
    for path in SOURCES:
        words = len(path.read_text("utf-8").split())
        assert words <= 1500, (path.name, words)


@pytest.mark.parametrize("section", build_site.site()["library"], ids=lambda s: s["page"])
def test_the_library_is_made_of_modules_that_exist(section: dict[str, list[str]]) -> None:
    for module in section["modules"]:
        path = build_site.ROOT / "src" / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file(), module


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_to_pages(page: str) -> None:
    text = re.sub(r"^(```).*?^```", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:|#)([^)#\s]+)", text):
        there = os.path.normpath(PurePosixPath(page).parent / target)
        assert Path(there).as_posix() in PAGES, target


def test_the_real_order_names_every_page() -> None:
    nav = build_site.navigation(list(PAGES), build_site.site()["section"])
    assert "More" not in nav[-1]

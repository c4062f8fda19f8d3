"""Pages and tables that follow from data are what the data says now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import write_docs
from faults import FAULTS, HEALTHY

from tritonwin.errors import Exit

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", write_docs.PAGES)
def test_generated_pages_are_fresh(name: str) -> None:
    assert (ROOT / "docs" / name).read_text("utf-8") == write_docs.PAGES[name](), (
        "run: python tools/write_docs.py"
    )


def test_the_readme_lists_every_exit_status() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    listed = {int(n) for n in re.findall(r"^\| (\d) \|", readme, re.MULTILINE)}
    assert listed == set(Exit)


def test_the_readme_counts_what_the_lane_seeds() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    kinds = {fault.problem for fault in FAULTS}
    assert f"{len(FAULTS)} seeded faults of {len(kinds)} kinds" in readme
    assert f"{len(HEALTHY)} healthy environments" in readme


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]))
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target

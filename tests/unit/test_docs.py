"""The commands and links of pages."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import build_site
import click
import pytest
import test_fix
from faults import FAULTS, HEALTHY

from tritonwin import COMMANDS
from tritonwin.cli.app import main as program

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
DOCS = ROOT / "docs"
SITE = build_site.pages()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_readme_names_every_command() -> None:
    assert [name for name in COMMANDS if not re.search(rf"\b{name}\b", README)] == []
    assert len(README.split()) <= 520


def test_the_figures_of_the_readme_are_those_of_the_tests() -> None:
    text = " ".join(README.split())
    shown = re.search(
        r"(\d+) seeded faults of (\d+) kinds.*?(\d+) healthy environments.*?(\d+) faults fixed",
        text,
        re.DOTALL,
    )
    assert shown is not None
    kinds = {fault.problem for fault in FAULTS}
    counted = (len(FAULTS), len(kinds), len(HEALTHY), len(test_fix.FIXED))
    assert tuple(map(int, shown.groups())) == counted


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_examples(name: str) -> None:
    with click.Context(program) as context:
        command = program.get_command(context, name)
    assert command is not None
    assert re.search(rf"Examples?:\n  tritonwin {name}", inspect.cleandoc(command.help or ""))


@pytest.mark.parametrize("page", sorted(SITE.keys() - {"changelog.md"}))
def test_options_that_a_sentence_names_exist(page: str) -> None:
    """`doctor --markdown`; lines to copy are run, see test_commands_run.py."""
    named = re.findall(r"`(?:tritonwin )?([a-z]+) ([^`]*--[a-z][^`]*)`", SITE[page])
    with click.Context(program) as context:
        for name, words in named:
            command = program.get_command(context, name) if name in COMMANDS else None
            if command is None:  # a word of another program
                continue
            commands = [command]
            if isinstance(command, click.Group):
                commands += command.commands.values()
            known = {o for each in commands for p in each.params for o in p.opts}
            own = words.partition(" -- ")[0]
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", own):
                assert option in known | {"--help"}, f"{name} {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(page: Path) -> None:
    named = r"`((?:tests|tools|benchmarks|src|docs|\.ci|\.github)/[\w./*-]*\w)"
    for place in re.findall(named, page.read_text("utf-8")):
        assert list(ROOT.glob(place)), place


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
        there = (page.parent / target).resolve()
        # or a page that is written when the site is built
        site = there.relative_to(DOCS).as_posix() if there.is_relative_to(DOCS) else ""
        assert there.exists() or site in SITE, target

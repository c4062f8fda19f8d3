"""Pages and tables that follow from data are what the data says now."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import provoked
import provoked_flash
import provoked_pip
import provoked_torch
import pytest
import site_pages
import test_fix
import write_docs
from faults import FAULTS, HEALTHY

from tritonwin.cli.app import COMMANDS
from tritonwin.cli.app import main as program
from tritonwin.errors import Exit
from tritonwin.patch.rules import RULES
from tritonwin.problems.checks import CHECKS
from tritonwin.verify import table

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("name", write_docs.PAGES)
def test_generated_pages_are_fresh(name: str) -> None:
    assert (ROOT / "docs" / name).read_text("utf-8") == write_docs.PAGES[name](), (
        "run: python tools/write_docs.py"
    )


def test_the_readme_lists_every_exit_status() -> None:
    listed = {int(n) for n in re.findall(r"^\| (\d) \|", README, re.MULTILINE)}
    assert listed == set(Exit)


def test_the_readme_lists_every_command() -> None:
    table_of_commands = README.split("## Commands")[1].split("\n\n## ")[0]
    listed = re.findall(r"^\| `tritonwin (\w+)", table_of_commands, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_examples(name: str) -> None:
    with click.Context(program) as context:
        command = program.get_command(context, name)
    assert command is not None
    assert f"Examples:\n  tritonwin {name}" in inspect.cleandoc(command.help or "")


def _releases() -> int:
    files = json.loads((ROOT / "src/tritonwin/patch/known_sources.json").read_text("utf-8"))
    return len({name for file in files.values() for names in file.values() for name in names})


_PROVOKED = {
    each.problem
    for each in (
        *provoked.TRITON,
        *provoked_pip.PIP,
        *provoked_flash.FLASH,
        *(program for s in provoked_torch.SESSIONS for program in s.programs.values()),
    )
}
_FIXED = {test_fix.BY_NAME[name].problem for name in test_fix.FIXED}
# what stands behind a number, and what the number has to be
COUNTS = {
    r"checks\b": len(CHECKS),
    r"rungs\b": len(table.load()),
    r"rules\b": len(RULES),
    r"releases\b": _releases(),
    r"seeded faults of \d+ kinds": len(FAULTS),
    r"kinds(?=, each named first| first)": len({fault.problem for fault in FAULTS}),
    r"healthy environments": len(HEALTHY),
    r"kinds provoked": len(_PROVOKED),
    r"faults of \d+ kinds(?: fixed|, tree)": len(test_fix.FIXED),
    r"kinds(?= fixed|, tree)": len(_FIXED),
}


@pytest.mark.parametrize("what", COUNTS)
def test_what_is_counted_in_words_is_counted_here(what: str) -> None:
    said = {
        (page.name, int(number))
        for page in PAGES
        for number in re.findall(rf"\b(\d+)\s+{what}", page.read_text("utf-8"))
    }
    assert said, "nothing says this any more: take the line out of COUNTS"
    wrong = {page for page, number in said if number != COUNTS[what]}
    assert not wrong, f"there are {COUNTS[what]} now: say so in {', '.join(sorted(wrong))}"


def _command_lines() -> Iterator[tuple[str, str]]:
    """Every line to copy that starts tritonwin, with the page it stands on; --help is one."""
    texts = {p.relative_to(ROOT).as_posix(): p.read_text("utf-8") for p in PAGES}
    for name, text in {**texts, "--help": site_pages.commands_page()}.items():
        for line in text.splitlines():
            found = re.match(
                r" {4,}(?:\S*python(?:\.exe)?|py)? ?(?:uvx |\S*(?= tritonwin\.pyz))?"
                r" ?tritonwin(?:\.pyz)? (?P<words>[a-z].*)",
                line,
            )
            if found:
                yield f"{name}: {line.strip()}", found["words"]


LINES = dict(_command_lines())


def test_lines_to_copy_are_found() -> None:
    assert len(LINES) > 40
    assert any("python_embeded" in line for line in LINES)


@pytest.mark.parametrize("line", LINES)
def test_lines_to_copy_are_understood(line: str) -> None:
    words = shlex.split(re.split(r" {2,}| [|>#] ", LINES[line])[0].replace("\\", "/"))
    command: click.Command = program
    with click.Context(command) as context:
        while isinstance(command, click.Group):
            assert words, "a command is missing"
            inner = command.get_command(context, words.pop(0))
            assert inner is not None
            command = inner
            if command.name in ("cache", "patch") and not words:
                return
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    for word in words[: words.index("--") if "--" in words else None]:
        if word.startswith("-") and word != "-":
            assert word.partition("=")[0] in known | {"--help"}, word


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(page: Path) -> None:
    named = r"`((?:tests|tools|benchmarks|src|docs|\.ci|\.github)/[\w./*-]*\w)"
    for place in re.findall(named, page.read_text("utf-8")):
        # on the pages about rules, triton/ is the folder; in CONTRIBUTING one name is invented
        if page.parent.name != "patch" and not place.endswith("/NAME.toml"):
            assert list(ROOT.glob(place)), place


def test_contributing_names_places_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| .* \|$", text, re.MULTILINE)
    assert len(rows) > 10
    for row in rows:
        for place in re.findall(r"`((?:src|tests|tools|docs)/[^` ]*)", row):
            assert list(ROOT.glob(place)), place
    for place in re.findall(
        r"`((?:problems|facts|remedies|patch|rules|build|verify)/[^`<]*)`", text
    ):
        folder = "src/tritonwin/patch" if place.startswith("rules/") else "src/tritonwin"
        assert list((ROOT / folder).glob(place)), place


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target

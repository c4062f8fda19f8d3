"""Texts of programs on PCs without NVIDIA: the first answer and its remedy, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import score_corpus

from tritonwin.problems.explain import explain_lines
from tritonwin.system import toml

TABLE = toml.loads((Path(__file__).parent / "vendors.toml").read_text("utf-8"))
# what nobody with such a card should read
NVIDIAS = re.compile(
    r"whl/cu\d|nvidia-smi|install .{0,40}nvidia driver|uninstall -y torch\b", re.IGNORECASE
)


def forms() -> Iterator[Any]:
    """Each text after its banner, and alone where it says enough."""
    for number, row in enumerate(TABLE["row"]):
        banner = TABLE["banners"].get(row.get("banner"), "")
        yield pytest.param(banner + row["text"], row, id=f"{row['id'][0]}-{number}")
        if row.get("alone") and banner:
            yield pytest.param(row["text"], row, id=f"{row['id'][0]}-{number}-alone")


@pytest.mark.parametrize(("text", "row"), list(forms()))
def test_the_first_answer_and_its_remedy(text: str, row: dict[str, Any]) -> None:
    problems = explain_lines(text.split("\n")).problems
    assert [p.id for p in problems][:1] in [[right] for right in row["id"]]
    case = score_corpus.Case(
        id="",
        label="",
        right=frozenset(),
        wanted=(row.get("says", ""),),
        never=(),
        answers=problems,
    )
    assert case.cured, [score_corpus.advice(p) for p in problems]
    assert not case.gaps
    said = [t for p in problems for t in (*score_corpus.advice(p), *score_corpus.asked(p))]
    assert not [t for t in said if NVIDIAS.search(t)]


# the texts of every problem's signatures
TEXTS = [
    text
    for file in sorted((Path(__file__).parent / "signatures").glob("*.toml"))
    for kinds in toml.loads(file.read_text("utf-8")).values()
    for kind, texts in kinds.items()
    if kind != "near"
    for text in texts
    if not re.search(r"GeForce|Quadro|NVIDIA [AH]\d|TITAN|[RG]TX", text)
]
OF_NVIDIA = re.compile(
    r"whl/cu\d|nvidia-smi|(?<!No )(?:install|update)[^.\n]{0,40}NVIDIA driver|"
    r"install (?:the|a) [^.\n]{0,20}toolkit|uninstall -y torch\b",
    re.IGNORECASE,
)
OUR_TRITON = re.compile(r"pip install[^\n]*triton-windows|\b[Ii]nstall (?:the )?triton-windows")


@pytest.mark.parametrize("card", ["rx7900", "zluda", "arc"])
def test_whatever_fails_no_advice_is_for_another_makers_card(card: str) -> None:
    found = set()
    for text in TEXTS:
        for problem in explain_lines((TABLE["banners"][card] + text).split("\n")).problems:
            said = (*score_corpus.advice(problem), *score_corpus.asked(problem))
            wrong = [s for s in said if OF_NVIDIA.search(s)]
            wrong += [s for s in said if card != "rx7900" and OUR_TRITON.search(s)]
            found |= {(problem.id, s) for s in wrong if "Do not" not in s}
    assert found == set()


@pytest.mark.parametrize("text", [*TABLE["banners"].values(), *TABLE["quiet"]["texts"]])
def test_nothing_is_said_of_a_card_that_works_or_is_not_there(text: str) -> None:
    problems = explain_lines(text.split("\n")).problems
    assert not [p.id for p in problems if p.severity != "info" and p.id != "cpu-only-torch"]
    assert "AMD" not in "".join(p.remedy.summary for p in problems)


def test_every_name_of_a_card_in_a_log_counts() -> None:
    """A launcher's guess comes before torch's word and before the card's own name."""
    lines = ["GPU arch: gfx1033", "pytorch version: 2.12.0+rocm7.14.0", "AMD arch: gfx1034"]
    lines += ["Device: cuda:0 AMD Radeon(TM) RX 6400 : native"]
    card = explain_lines(lines).facts.amd_card
    assert card
    assert card.architecture == "gfx1034"


@pytest.mark.parametrize(("python", "replaced"), [("3.9.13", True), ("3.12.7", False)])
def test_a_python_that_amds_wheels_serve_is_kept(python: str, replaced: bool) -> None:
    lines = ["AMD Radeon RX 7600", f"Python {python}"]
    lines += [
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)"
    ]
    problem = explain_lines(lines).problems[0]
    assert problem.id == "python-unsupported"
    assert any("winget" in command for command in problem.remedy.commands) == replaced


def test_a_page_that_is_not_there_says_nothing_of_the_python() -> None:
    lines = ["AMD Radeon RX 7600", "Python 3.12.7"]
    lines += [
        "ERROR: HTTP error 404 while getting https://repo.amd.com/rocm/whl/gfx110X-dgpu/rocm.tar.gz"
    ]
    assert explain_lines(lines).problems == ()

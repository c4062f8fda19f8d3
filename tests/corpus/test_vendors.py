"""What programs print on PCs without NVIDIA: the first answer and its remedy, row by row."""

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


@pytest.mark.parametrize("text", [*TABLE["banners"].values(), *TABLE["quiet"]["texts"]])
def test_nothing_is_said_of_a_card_that_works_or_is_not_there(text: str) -> None:
    problems = explain_lines(text.split("\n")).problems
    assert not [p.id for p in problems if p.severity != "info" and p.id != "cpu-only-torch"]
    assert "AMD" not in "".join(p.remedy.summary for p in problems)

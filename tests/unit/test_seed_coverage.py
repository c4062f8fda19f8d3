"""Everything that the first five documents name leads to something that exists, and is tested."""

from __future__ import annotations

from dataclasses import replace

import pytest
import write_seed_coverage as coverage

DOCUMENTS = coverage.documents()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.seed)
def test_nothing_leads_nowhere(document: coverage.Document) -> None:
    assert list(coverage.gaps(document)) == []


def test_all_five_are_there_with_every_kind_of_item() -> None:
    assert [document.seed for document in DOCUMENTS] == ["000", "001", "002", "003", "004"]
    assert {i.kind for document in DOCUMENTS for i in document.items} == set(coverage.KINDS)


def test_every_quoted_error_is_among_the_items() -> None:
    texts = {(item["seed"], item["section"]) for item in coverage.read(coverage.SYMPTOMS)["item"]}
    items = {(d.seed, item.section) for d in DOCUMENTS for item in d.items if item.quoted}
    assert items == texts


def test_the_page_is_fresh() -> None:
    assert coverage.PAGE.read_text("utf-8") == coverage.page(), (
        "run: python tools/write_seed_coverage.py"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"leads_to": []}, "leads nowhere"),
        ({"leads_to": ["module:tritonwin.facts.model"], "tests": []}, "no test"),
        ({"leads_to": ["check:gone"]}, "no check:gone"),
        ({"leads_to": ["signature:gone"]}, "no signature:gone"),
        ({"leads_to": ["rule:gone"]}, "no rule:gone"),
        ({"leads_to": ["rung:gone"]}, "no rung:gone"),
        ({"leads_to": ["recipe:gone"]}, "no recipe:gone"),
        ({"leads_to": ["remedy:gone"]}, "no remedy:gone"),
        ({"leads_to": ["command:gone"]}, "no command:gone"),
        ({"leads_to": ["variable:GONE"]}, "no variable:GONE"),
        ({"leads_to": ["module:tritonwin.gone"]}, "no module:tritonwin.gone"),
        ({"leads_to": ["page:docs/gone.md"]}, "no page:docs/gone.md"),
        ({"leads_to": ["idea:anything"]}, "no idea:anything"),
        ({"tests": ["tests/unit/test_gone.py::test_it"]}, "no test tests/unit/test_gone.py"),
        ({"tests": ["tests/unit/test_checks.py::test_gone"]}, "no test tests/unit/test_checks.py"),
        ({"tests": ["tests/healthy.py::machine"]}, "no test tests/healthy.py::machine"),
        ({"section": "another"}, "no such section"),
        ({"kind": "song"}, "unknown kind 'song'"),
    ],
)
def test_a_gap_is_seen(change: dict[str, object], said: str) -> None:
    first = DOCUMENTS[0].items[0]
    document = replace(DOCUMENTS[0], items=[replace(first, **change)])  # type: ignore[arg-type]
    assert any(said in gap for gap in coverage.gaps(document))


def test_a_section_without_items_is_seen() -> None:
    document = replace(DOCUMENTS[0], sections=["forgotten"], items=[])
    assert list(coverage.gaps(document)) == ["000: forgotten: nothing stands for this section"]

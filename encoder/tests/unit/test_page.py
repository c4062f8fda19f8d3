"""The pages' tables are what the results say, and no result is left out of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fill_page
import pytest

BENCH: dict[str, Any] = {
    "device": "A card",
    "torch": "2.11",
    "triton": "3.6",
    "cases": [
        {"section": "others", "what": "torch.stft", "shape": [32, 1024, 256, 64], "us": 284.4},
        {"section": "host", "what": "exact fp32", "shape": [8, 512, 256, 64], "us": 18.25},
        {"section": "gradients", "what": "taps, forward", "shape": [32, 1024, 256, 64], "us": 13.0},
        {
            "section": "gradients",
            "what": "taps, forward and backward",
            "shape": [32, 1024, 256, 64],
            "us": 50.5,
        },
    ],
}
RUN = {"arm": "source", "equal": "body", "text": "shakespeare", "steps": 9, "front_parameters": 1234,
       "parameters": 4e6, "leak": 0.5, "last": 4.76, "device": "A card", "torch": "2.11", "us_a_step": 2500.0}  # fmt: skip


def sized(
    arm: str, text: str, *values: float, equal: str = "parameters", **more: Any
) -> list[dict[str, Any]]:
    return [{**RUN, "arm": arm, "equal": equal, "text": text, "seed": seed, "all": value, "leak": 0.0, **more}
            for seed, value in enumerate(values)]  # fmt: skip


ARMS = {
    "device": "A card", "unigram": {"shakespeare": 4.771, "django": 4.4},
    "words": {"source": "the encoder", "embedding": "a table", "embedding+mag-linear": "in steps",
              "one-kernel": "fused", "embedding+conv8": "conv", "one-kernel+conv8": "both"},
    "results": [{**RUN, "seed": 0, "all": 2.349},
                {**RUN, "seed": 1, "all": 2.351, "device": "NVIDIA B1"},
                *sized("embedding", "shakespeare", 2.6, 2.5, 2.4),
                *sized("embedding+mag-linear", "shakespeare", 2.1, 2.2, 2.3),
                *sized("one-kernel", "shakespeare", 2.11, 2.2, 2.28, apart=2.11),
                *sized("one-kernel", "shakespeare", 2.9, equal="time"),
                *sized("embedding", "shakespeare", 2.5, 2.5, 2.5, equal="time"),
                *sized("embedding+conv8", "django", 1.3, 1.3, 1.3),
                *sized("one-kernel+conv8", "django", 1.2, 1.4),
                *sized("one-kernel", "django", 1.2, 1.2, 1.2),
                *sized("embedding", "django", 1.6, 1.7, 1.8)],
}  # fmt: skip
GRID = {
    **{key: BENCH[key] for key in ("device", "torch", "triton")},
    "rows": [
        {"shape": [32, 1024, 256, W], "parts": "mag", "mode": mode, "us": 13.1, "share": share,
         "old": 47.2, "errors": [4e-7, 6e-7]}
        for W, share in ((509, 0.64), (200, 0.6)) for mode in ("exact", "fast", "bf16")
    ],
}  # fmt: skip
FRONT_END = {
    **{key: BENCH[key] for key in ("device", "torch", "triton")},
    "rows": [{
        "shape": [32, 1024, 256, 768],
        **{way: {name: {"us": 15.5, "ratio": 0.73} for name in ("lookup", "one kernel", "gated", "apart")}
           for way in ("forward", "forward and backward")},
    }],
}  # fmt: skip


def test_the_pages_are_what_the_results_say() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in fill_page.PAGES)
    assert fill_page.filled(text) == text, "run: python tools/fill_page.py"
    assert text.count("<!-- generated: ") == len(fill_page.TABLES) == text.count("<!-- end -->")


def test_what_the_readme_recommends_is_among_the_best() -> None:
    (found,) = fill_page.results("arms")
    of = fill_page.columns(found)
    assert {text for _, text in of} == {"shakespeare", "django"}
    for key, lowest in fill_page.lowest(of).items():
        assert fill_page.mean(of[key]["embedding+conv8"]) < lowest + 0.015, key


@pytest.mark.parametrize(
    ("name", "found", "rows"),
    [
        ("times", BENCH, ["| microseconds | card | 32, 1024, 256, W=64 |", "| torch.stft | A | 284.4 |",
                          "A: a call costs the host 18 to 18 us; taps that learn: 13.0 us forward, 50.5 with backward."]),
        ("shares", GRID, ["| 192 to 512 | 2 | 0.62 (0.60 to 0.64) |",
                          "Of 6 figures 0 reach 0.75 of the limit; 6 are faster than before by more than 2 %, 0 slower"]),
        ("grid", GRID, ["| 32 x 1024 | 256 | 509 | mag |" + " 13.1 / 0.64 / 47.2 |" * 3]),
        ("front-end", FRONT_END, ["| 32 x 1024 | 256 | 768 | forward | 15.5 | 15.5 / **0.73** |"]),
        ("ratios", FRONT_END, ["On an A the front end takes 0.73 times", "0.73 forward and backward (32 x 1024 at 768 columns)"]),
        ("arms", ARMS, ["| `source` | the encoder | 1,234 | 2.349 / 2.351 | 4.760 | **yes** |",
                        "NVIDIA B1, PyTorch 2.11: 1 run"]),
        ("equal", ARMS, ["| 1,234 | 2.50 |  | 2.200 ± 0.100 |", "| 9 | **2.197** ± 0.087 | **1.200** ± 0.000 | 2.900 (1 seed) |",
                         "- shakespeare, equal steps: +0.010, +0.000, -0.020",
                         "(3 runs) differs by at most 0.1700", "A card, PyTorch 2.11: 24 runs",
                         "None sees the future, in 24 runs.", "- django, equal steps: -0.100, +0.100"]),
        ("worth", ARMS, ["Lowest: `one-kernel` on shakespeare, equal steps; `one-kernel` on django, equal steps;",
                         "| a table (`embedding`) | 2.500 ± 0.100 | 1.700 ± 0.100 | **2.500** ± 0.000 |",
                         "| fused (`one-kernel`) | **2.197** ± 0.087 |", "`one-kernel` less `embedding` -0.303, -0.500, +0.400."]),
    ],
)  # fmt: skip
def test_a_table_holds_the_figures(
    name: str, found: dict[str, Any], rows: list[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    source, _ = fill_page.TABLES[name]
    (tmp_path / f"{source}.json").write_text(json.dumps(found), encoding="utf-8")
    monkeypatch.setattr(fill_page, "RESULTS", tmp_path)
    text = fill_page.filled(f"<!-- generated: {name} -->\nold\n<!-- end -->")
    assert name in ("ratios", "worth") or "A card, PyTorch 2.11" in text
    assert "old\n" not in text
    assert not [row for row in rows if row not in text], text


def test_two_cards_stand_below_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, found in (
        ("a", BENCH),
        ("b", {**BENCH, "device": "NVIDIA B1", "note": "later code"}),
    ):
        (tmp_path / f"bench-{name}.json").write_text(json.dumps(found), encoding="utf-8")
    monkeypatch.setattr(fill_page, "RESULTS", tmp_path)
    text = fill_page.filled("<!-- generated: times -->\n<!-- end -->")
    assert "| torch.stft | A | 284.4 |\n| torch.stft | B1 | 284.4 |" in text
    assert "NVIDIA B1, PyTorch 2.11, Triton 3.6; later code." in text


def test_what_was_not_measured_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fill_page, "RESULTS", tmp_path)
    assert "Not measured yet." in fill_page.filled("<!-- generated: arms -->\n1\n<!-- end -->")

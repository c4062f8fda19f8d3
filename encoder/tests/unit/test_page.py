"""The page's tables are what the results say, and no result is left out of them."""

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
    "goals": [
        {"must": "4", "what": "loop over kernel", "value": 7350.0, "limit": 1000, "least": True, "met": True},
        {"must": "2", "what": "long windows", "value": 1.5, "limit": 1.3, "least": False, "met": False},
    ],
    "cases": [
        {"section": "pytorch", "what": "torch.stft", "shape": [32, 1024, 256, 64], "us": 284.4},
        {"section": "end-to-end", "what": "naive, front, eager", "shape": [8, 512, 256, 64], "us": 48000.0},
        {"section": "end-to-end", "what": "fused, model, graph", "shape": [8, 512, 256, 64], "us": 500.0},
    ],
}  # fmt: skip
OTHER: dict[str, Any] = {
    **BENCH, "device": "NVIDIA B1 80GB", "note": "later code",
    "goals": [{**BENCH["goals"][1], "value": 1.2, "met": True}],
}  # fmt: skip
RUN = {"arm": "source", "equal": "body", "text": "shakespeare", "steps": 9, "front_parameters": 1234,
       "parameters": 4e6, "leak": 0.5, "last": 4.76, "device": "A card", "torch": "2.11", "us_a_step": 2500.0}  # fmt: skip


def sized(arm: str, text: str, *values: float, equal: str = "parameters") -> list[dict[str, Any]]:
    return [{**RUN, "arm": arm, "equal": equal, "text": text, "seed": seed, "all": value, "leak": 0.0}
            for seed, value in enumerate(values)]  # fmt: skip


ARMS = {
    "unigram": {"shakespeare": 4.771, "django": 4.4},
    "words": {"source": "the encoder", "embedding": "a table", "embedding+mag-linear": "in steps",
              "one-kernel": "fused"},
    "results": [{**RUN, "seed": 0, "all": 2.349},
                {**RUN, "seed": 1, "all": 2.351, "device": "NVIDIA B1"},
                *sized("embedding", "shakespeare", 2.6, 2.5, 2.4),
                *sized("embedding+mag-linear", "shakespeare", 2.1, 2.2, 2.3),
                *sized("one-kernel", "shakespeare", 2.11, 2.2, 2.28),
                *sized("one-kernel", "shakespeare", 2.9, equal="time"),
                *sized("embedding", "django", 1.6, 1.7, 1.8),
                *sized("embedding+mag-linear", "django", 1.1, 1.1, 1.1),
                *sized("one-kernel", "django", 1.2, 1.0, 1.4)],
}  # fmt: skip

COUNTERS = {
    "device": "A card", "torch": "2.11", "triton": "3.6",
    "kernels": [{
        "case": "fused Linear", "kernel": "project", "us": 17.25, "tensor": 41.2, "transcendental": 9.0,
        "issue": 30.1, "l1": 20.0, "l2": 25.0, "dram": None, "occupancy": 12.5, "registers": 255.0,
        "shared_bytes": 196672, "waits": {"long_scoreboard": 4.25, "wait": 0.5},
    }],
}  # fmt: skip


GRID = {
    **{key: BENCH[key] for key in ("device", "torch", "triton")},
    "rows": [
        {"shape": [32, 1024, 256, 509], "parts": "mag", "mode": mode, "form": "HopperWalking", "us": 13.1,
         "share": 0.64, "old": 47.2, "errors": [4e-7, 6e-7]}
        for mode in ("exact", "fast", "bf16")
    ],
}  # fmt: skip


def test_a_grid_of_shapes() -> None:
    text = fill_page.grid([GRID])
    assert "Of 3 figures 0 reach 0.75 of the limit; 3 are faster" in text
    assert "by more than 2 %, 0 slower. Largest error" in text
    assert "| 32 x 1024 | 256 | 509 | mag |" + " 13.1 / 0.64 / 47.2 |" * 3 in text


def test_the_page_is_what_the_results_say() -> None:
    text = "".join(f.read_text(encoding="utf-8") for f in (fill_page.PAGE, fill_page.README))
    assert fill_page.filled(text) == text, "run: python tools/fill_page.py"
    assert text.count("<!-- generated: ") == len(fill_page.TABLES) == text.count("<!-- end -->")


@pytest.mark.parametrize(
    ("name", "found", "rows"),
    [
        ("goals", BENCH, ["| loop over kernel | at least 1000 | 7,350 | yes |",
                          "| long windows | at most 1.3 | 1.5 | **no** |", "Met: 1 of 2 on the A."]),
        ("times", BENCH, ["| microseconds | card | 32, 1024, 256, W=64 |",
                          "| torch.stft | A | 284.4 |"]),
        ("end-to-end", BENCH, ["Milliseconds, 8 rows",
                               "| 512 | A | - / - / - | 48.00 / - / - | - / - / - | - / - / 0.50 |"]),
        ("counters", COUNTERS, ["| fused Linear | `project` | 17.2 | 41 | 9 | 30 | 20 | 25 |  | 12 |",
                                " | 255 | 192 | long scoreboard 4.2, wait 0.5 |"]),
        ("arms", ARMS, ["| `source` | the encoder | 1,234 | 2.349 / 2.351 | 4.760 | **yes** |",
                        "NVIDIA B1, PyTorch 2.11: 1 run"]),
        ("equal", ARMS, ["| no | 2.200 ± 0.100 | 1.100 ± 0.000 | 4.760 | 4.760 | 2.50 | not run |",
                         "| 2.197 ± 0.087 | 1.200 ± 0.200 | 4.760 | 4.760 | 2.50 | 2.900 (1 seed), 9 steps |",
                         "- shakespeare: +0.010, +0.000, -0.020", "A card, PyTorch 2.11: 19 runs"]),
        ("worth", ARMS,
         ["Lowest: `one-kernel` on shakespeare; `embedding+mag-linear` on django.",
          "| in steps (`embedding+mag-linear`) | 2.200 | **1.100** | 2.50 |\n| fused (`one-kernel`) | **2.197** |"]),
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
    assert name == "worth" or "A card, PyTorch 2.11" in text
    assert "old" not in text
    assert all(row in text for row in rows)


def test_two_cards_stand_beside_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, found in (("a", BENCH), ("b", OTHER)):
        (tmp_path / f"bench-{name}.json").write_text(json.dumps(found), encoding="utf-8")
    monkeypatch.setattr(fill_page, "RESULTS", tmp_path)
    text = fill_page.filled("<!-- generated: goals -->\n<!-- end -->")
    assert "| what | goal | A | met | B1 | met |" in text
    assert "| long windows | at most 1.3 | 1.5 | **no** | 1.2 | yes |" in text
    assert "| loop over kernel | at least 1000 | 7,350 | yes |  |  |" in text
    assert "NVIDIA B1 80GB, PyTorch 2.11, Triton 3.6; later code." in text
    assert "Met: 1 of 2 on the A, 1 of 1 on the B1." in text


def test_what_was_not_measured_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fill_page, "RESULTS", tmp_path)
    assert "Not measured yet." in fill_page.filled("<!-- generated: arms -->\n1\n<!-- end -->")

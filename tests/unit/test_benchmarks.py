"""What the README says of speed is what was measured."""

from __future__ import annotations

from pathlib import Path

import all as benchmarks
import figures
import pytest
from figures import Figure


def figure(value: float, **more: object) -> Figure:
    return Figure(what="a / b", where="here", value=value, goal=1.5, **more)  # type: ignore[arg-type]


def test_the_readme_says_what_was_measured() -> None:
    page = benchmarks.PAGE.read_text("utf-8")
    assert page.count("<!-- generated: benchmarks -->") == 1
    assert benchmarks.filled(page) == page, "run: python benchmarks/all.py --table"


def test_another_result_is_another_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = benchmarks.PAGE.read_text("utf-8")
    monkeypatch.setattr(figures, "FILE", tmp_path / "cpu.json")
    figures.save([figure(1.6), figure(1.4)], runs=3, note="beside nothing")
    changed = benchmarks.filled(page)
    assert "| a / b | here | 1.6 | at most 1.5 | **missed** |" in changed
    assert "| a / b | here | 1.4 | at most 1.5 | met |" in changed
    assert ", beside nothing; " in changed
    outside = changed.partition("<!-- generated: benchmarks -->")[0]
    assert page.startswith(outside)


@pytest.mark.parametrize(
    ("measured", "met", "shown"),
    [
        (figure(1.5), True, "1.5"),
        (figure(1.501), False, "1.501"),
        (figure(1.5, least=True), True, "1.5"),
        (figure(1.4999, least=True, unit="s"), False, "1.4999 s"),
        (figure(0.39123), True, "0.391"),
        (figure(58.04, least=True, unit="MB/s"), True, "58 MB/s"),
    ],
)
def test_a_figure_shows_on_which_side_of_its_goal_it_lies(
    measured: Figure, met: bool, shown: str
) -> None:
    assert measured.met is met
    assert measured.shown == shown
    assert figures.all_met([measured]) == int(not met)

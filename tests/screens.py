"""The output on a terminal of some width, and the most lines that a screen may have."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from tritonwin.facts.records import Facts
from tritonwin.output import proof, terminal
from tritonwin.output.view import of_diagnosis
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose

Show = Callable[[], object]
LONGEST, LONGEST_HEALTHY = 24, 12  # lines for one problem, and for none


def of_facts(facts: Facts) -> Show:
    return lambda: terminal.print_view(of_diagnosis(facts, diagnose(facts, CHECKS)))


def screen(monkeypatch: pytest.MonkeyPatch, show: Show, width: int) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=True, color_system=None, highlight=False, markup=False
    )
    for module in (terminal, proof):
        monkeypatch.setattr(module, "console", lambda *_, **__: console)
    monkeypatch.setattr(terminal.Meter, "update", lambda *_: None)
    show()
    return out.getvalue()


def height(text: str, width: int) -> int:
    """Lines on the screen, those included that the terminal breaks."""
    return sum(-(-max(len(line), 1) // width) for line in text.splitlines())

"""Screens as people see them, approved as a whole at 80 and 120 columns; none is too long."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

import approved
import healthy
import pytest
from report_pages import where_users_have_it
from screens import LONGEST, LONGEST_HEALTHY, Show, height, screen

from tritonwin.facts import snapshot
from tritonwin.output import proof, terminal
from tritonwin.output.view import of_diagnosis, of_explanation
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_lines
from tritonwin.system.codec import map_text
from tritonwin.verify import records
from tritonwin.verify.ladder import ClimbWatch
from tritonwin.verify.records import RungResult, RungState


def of_snapshot(name: str) -> Show:
    with resources.as_file(resources.files("tritonwin.demo").joinpath("snapshots")) as folder:
        facts = map_text(snapshot.read(folder / f"{name}.json"), where_users_have_it)
    view = of_diagnosis(facts, diagnose(facts, CHECKS), here=False)
    return lambda: terminal.print_view(view)


def of_log(*lines: str) -> Show:
    view = of_explanation(explain_lines(lines), "comfyui.log")
    return lambda: terminal.print_view(view)


def of_ladder(broken: str | None) -> Show:
    """A ladder on a machine without a GPU; `broken`: the rung that fails."""
    results = []
    for number, rung in enumerate(records.load().rung):
        state: RungState = "passed" if number < 8 else "not-applicable"
        plain = RungResult(id=rung.id, title=rung.title, state=state, detail="seen", seconds=1)
        if rung.id == broken:
            lines = "\n".join(f"line {n} of the traceback" for n in range(30))
            problems = ("ptxas-not-found",)
            plain = replace(plain, state="failed", traceback=lines, problems=problems)
        results.append(plain)
    facts, rungs = healthy.changed(), len(results)
    return lambda: proof.print_climb(facts, results, ClimbWatch(), rungs=rungs)


SCREENS: dict[str, Show] = {
    "healthy": of_snapshot("healthy"),
    "no-headers": of_snapshot("no-headers"),
    "wrong-pair": of_snapshot("wrong-pair"),
    "blackwell": of_snapshot("blackwell"),
    "cc-list": of_snapshot("cc-list"),
    "explain-certain": of_log("compiled_autograd.h(1): error C2872: 'std': ambiguous symbol"),
    "explain-possible": of_log("RuntimeError: 0 active drivers ([]). There should only be one."),
    "explain-unknown": of_log("Traceback (most recent call last):", "ValueError: no idea"),
    "verify-without-gpu": of_ladder(None),
    "verify-broken": of_ladder("ptxas"),
}

LIMITS = {"healthy": LONGEST_HEALTHY, "explain-possible": 2 * LONGEST}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", SCREENS)
def test_screens(monkeypatch: pytest.MonkeyPatch, name: str, width: int) -> None:
    text = screen(monkeypatch, SCREENS[name], width)
    assert text.isascii()
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert height(text, width) <= LIMITS.get(name, LONGEST)
    approved.check(f"screens/{name}-{width}.txt", text)

"""The page in real Windows Pythons: a repair, its proof and its undo, and a server that is killed.

A browser of this machine talks to the server inside Wine. Pictures of it are left in the folder
that TRITONWIN_PICTURES names.
"""

from __future__ import annotations

import time

import pytest
from faults import Fault
from pages import serving
from repairs import Repair
from winlane import Lane, Machine

LIMIT = 300  # seconds


@pytest.fixture
def repair(lane: Lane, machine: Machine) -> Repair:
    """An embedded Python without headers, pip or Triton."""
    fault = Fault("triton-missing", "", lambda s: None, kind="bare", triton=None)
    return Repair.prepared(lane, machine, fault)


def words_of(repair: Repair) -> list[str]:
    links = [word for folder in repair.wheels for word in ("--find-links", folder)]
    return ["--offline", *links, "--python", repair.seed.env.python]


def test_from_the_problem_to_the_proof_and_back(repair: Repair) -> None:
    with serving(repair.seed.machine, words_of(repair)) as (page, program):
        page.until("", "will not work here", limit=LIMIT)
        page.agree(page.act("fix"), "Proven: it works now.", limit=LIMIT)
        assert "Repair" not in page.until("", "should work here", limit=LIMIT)
        page.agree(page.act("undo"), "Everything is as it was before.", limit=LIMIT)
        page.ask("POST", "end")
        assert program.wait(60) == 0
    repair.give_back(())


@pytest.mark.full
@pytest.mark.parametrize("seconds", [0.0, 1.0, 3.0])
def test_a_server_that_is_killed_in_the_middle(repair: Repair, seconds: float) -> None:
    machine = repair.seed.machine
    with serving(machine, words_of(repair)) as (page, _):
        page.agree(page.act("fix"), "fetching", "Proven", limit=LIMIT)
        time.sleep(seconds)
    with serving(machine, words_of(repair)) as (page, _):
        page.until("", "Prove it", limit=LIMIT)
        task = page.act("undo")
        if "Do it" in page.until(task, "Do it", "Failed", limit=LIMIT):
            page.agree(task, "Everything is as it was before.", limit=LIMIT)
    repair.give_back(())

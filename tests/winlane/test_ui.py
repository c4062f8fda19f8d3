"""The page in real Windows Pythons: a repair, its proof and its undo, and a server that is killed.

A browser of this machine talks to the server inside Wine. Pictures of it are left in the folder
that TRITONWIN_PICTURES names.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import browser
import firefox
import pytest
from browser import Page
from faults import Fault
from pages import serving
from repairs import Repair
from winlane import Lane, Machine

LIMIT = 300  # seconds


@pytest.fixture
def repair(lane: Lane, machine: Machine) -> Repair:
    """An embedded Python without headers, pip or Triton."""
    return Repair.prepared(lane, machine, Fault(kind="bare", triton=""))


def words_of(repair: Repair) -> list[str]:
    machine = repair.seed.machine
    for folder in repair.wheels:
        machine.place(r"C:\wheels", machine.drives.linux(folder))
    return ["--offline", "--find-links", r"C:\wheels", "--python", repair.seed.env.python]


def test_from_the_problem_to_the_proof_and_back(repair: Repair) -> None:
    with serving(repair.seed.machine, words_of(repair)) as (page, program):
        page.until("", "will not work here", limit=LIMIT)
        page.agree(page.act("fix"), "Proven: it works now.", limit=LIMIT)
        assert "Repair" not in page.until("", "should work here", limit=LIMIT)
        page.agree(page.act("undo"), "Everything is as it was before.", limit=LIMIT)
        page.ask("POST", "end")
        assert program.wait(60) == 0
    repair.undo(())


@pytest.mark.full
def test_the_other_calls(repair: Repair) -> None:
    """A log, an installation and its undo, and a snapshot, which names nobody."""
    repair.seed.machine.home("Ada Lovelace")
    with serving(repair.seed.machine, words_of(repair)) as (page, program):
        said = page.ask("POST", "explain", {"log": "ModuleNotFoundError: No module named 'triton'"})
        assert "triton-missing" in said.text
        page.until("", "will not work here", limit=LIMIT)
        written = page.ask("GET", "snapshot")
        assert json.loads(written.text)["schema"] == "tritonwin.snapshot/1"
        assert "Lovelace" not in written.text
        task = page.act("install", given="triton-windows")
        assert "triton_windows-3.8" in page.agree(task, "To undo it", "Failed", limit=LIMIT)
        page.agree(page.act("undo"), "Everything is as it was before.", limit=LIMIT)
        page.ask("POST", "end")
        assert program.wait(60) == 0
    repair.undo(())


@contextmanager
def in_chromium(address: str) -> Iterator[Page]:
    with browser.started(browser.provide()) as chromium:
        page = chromium.open(address, width=1000)
        yield page
        chromium.close(page)


def in_firefox(address: str) -> AbstractContextManager[Page]:
    return firefox.opened(address, width=1000)


@pytest.mark.full
@pytest.mark.parametrize("shown", [in_chromium, in_firefox])
def test_the_same_in_a_browser(
    repair: Repair,
    shown: Callable[[str], AbstractContextManager[Page]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A start as a double click makes it, but for the options; the page is closed at the end."""
    pictures = Path(os.environ.get("TRITONWIN_PICTURES") or tmp_path_factory.mktemp("pictures"))
    with serving(repair.seed.machine, words_of(repair)) as (client, program):
        with shown(client.home) as page:
            for number, (text, button) in enumerate(
                (
                    ("will not work here", "Repair: show the plan"),
                    ("Make these changes?", "Do it"),
                    ("Proven: it works now.", ""),
                    ("should work here", ""),
                    ("", "Prove it"),
                    ("Not proven.", ""),
                    ("applied", ""),
                    ("", "Undo ..."),
                    ("Undo this?", "Do it"),
                    ("Everything is as it was before.", ""),
                )
            ):
                if text:
                    page.until(f"document.body.innerText.includes({text!r})", LIMIT)
                    page.screenshot(pictures / f"ui-{number}-{shown.__name__}.png")
                if link := {2: "What is wrong now", 5: "Past changes"}.get(number):
                    page.value(f"[...document.links].find(a => a.textContent == {link!r}).click()")
                if button:
                    page.press(button)
            assert page.errors == [], page.errors
        assert program.wait(60) == 0
    repair.undo(())


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
    repair.undo(())

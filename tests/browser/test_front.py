"""The local page in a real browser: the whole story, with the keyboard, on a phone, light and dark.

Pictures of it are left in the folder that TRITONWIN_PICTURES names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import firefox
import pytest
from browser import Browser, Page, Scheme
from fix_world import World
from fronts import Front, repairable, served
from trees import tree_hash

pytestmark = pytest.mark.full
PHONE, DESK = 360, 1280
TEXT = "document.body.innerText.includes({!r})"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return repairable(tmp_path, monkeypatch)


@pytest.fixture
def front(world: World) -> Iterator[Front]:
    with served(world) as ready:
        yield ready


def looked_at(page: Page, file: Path) -> None:
    """A picture; it fits its window, and breaks no rule of axe."""
    page.screenshot(file)
    wide = page.value("[innerWidth, document.documentElement.scrollWidth]")
    assert wide[1] <= wide[0], file
    assert page.violations() == [], file


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_from_the_problem_to_the_proof_and_back(
    chromium: Browser, front: Front, world: World, pictures: Path, width: int, scheme: Scheme
) -> None:
    before = tree_hash(world.root)
    page = chromium.open(front.address, width=width, scheme=scheme)

    def shown(name: str, text: str) -> None:
        page.until(TEXT.format(text))
        looked_at(page, pictures / f"page-{name}-{width}-{scheme}.png")

    shown("problem", "will not work here")
    page.press("Repair: show the plan")
    shown("plan", "Make these changes?")
    assert tree_hash(world.root) == before
    # who reads with a keyboard or a screen reader is at the question
    assert page.value("document.activeElement.textContent") == "Make these changes?"
    page.press("Do it")
    shown("proven", "Proven: it works now.")
    assert not world.shadow.exists()
    page.press("Undo it")
    shown("undo", "Undo this?")
    page.press("Do it")
    shown("undone", "Everything is as it was before.")
    assert tree_hash(world.root) == before
    for link in ("Explain a log", "Install", "Past changes"):
        here = page.value("location.href")
        page.value(f"[...document.links].find(a => a.textContent == {link!r}).click()")
        page.until(f"location.href != {here!r}")
        page.until("document.readyState == 'complete'")
        looked_at(page, pictures / f"page-{link.split()[0].lower()}-{width}-{scheme}.png")
    assert {url.split("/")[2] for url in page.requests} == {front.origin.removeprefix("http://")}
    assert [e for e in page.errors if "favicon" not in e] == []
    chromium.close(page)


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (DESK, "dark")])
def test_in_firefox(front: Front, world: World, pictures: Path, width: int, scheme: Scheme) -> None:
    before = tree_hash(world.root)
    with firefox.opened(front.address, width=width, scheme=scheme) as page:
        for text, button in (
            ("will not work here", "Repair: show the plan"),
            ("Make these changes?", "Do it"),
            ("Proven: it works now.", "Undo it"),
            ("Undo this?", "Do it"),
            ("Everything is as it was before.", ""),
        ):
            page.until(TEXT.format(text))
            if button == "Do it":
                page.until(f"document.activeElement.textContent == {text!r}")
            wide = page.value("[innerWidth, document.documentElement.scrollWidth]")
            assert wide[1] <= wide[0], text
            name = text.split()[0].strip(":").lower()
            page.screenshot(pictures / f"firefox-{name}-{width}-{scheme}.png")
            if button:
                page.press(button)
        dark = page.value("matchMedia('(prefers-color-scheme: dark)').matches")
        assert dark == (scheme == "dark")
    assert tree_hash(world.root) == before


def test_with_the_keyboard_alone(chromium: Browser, front: Front, world: World) -> None:
    page = chromium.open(front.address, width=DESK)
    for button in ("Repair: show the plan", "Do it"):
        page.until(TEXT.format(button))
        for _ in range(20):
            page.shown.keyboard.press("Tab")
            if page.value("document.activeElement.textContent") == button:
                break
        page.shown.keyboard.press("Enter")
    page.until(TEXT.format("Proven"))
    assert not world.shadow.exists()
    chromium.close(page)


def test_without_javascript(chromium: Browser, front: Front) -> None:
    """Everything can be read; what is waited for comes by itself."""
    page = chromium.open(front.address, width=DESK, scripts=False)
    page.until(TEXT.format("will not work here"))
    assert page.value("document.querySelectorAll('form button').length") >= 4
    front.act("fix")
    page = chromium.open(f"{front.home}task/2", width=DESK, scripts=False)
    page.until(TEXT.format("Make these changes?"))


def test_two_pages_and_a_reload_in_the_middle(
    chromium: Browser, front: Front, world: World
) -> None:
    first = chromium.open(front.address, width=DESK)
    first.press("Repair: show the plan")
    first.until(TEXT.format("Make these changes?"))
    second = chromium.open(front.home, width=DESK)
    second.until(TEXT.format("waits for your answer"))
    first.value("location.reload()")
    second.value("document.querySelector('.note a').click()")
    second.press("Do it")
    # both come to know it, the other one without a reload
    for page in (first, second):
        page.until(TEXT.format("Proven"))
        assert page.value("document.querySelectorAll('#said > div').length") > 5
    # a page that is closed, and a server that ends, are noticed
    chromium.close(second)
    front.ask("POST", "end")
    front.server.closing = True
    first.until(TEXT.format("tritonwin has ended"))
    chromium.close(first)

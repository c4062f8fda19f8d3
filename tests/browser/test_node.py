"""The tab of the node in a real browser, in a stand-in for ComfyUI's frontend."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, Page
from comfyui import StandInComfyUI

pytestmark = pytest.mark.full
TEXT = "document.body.innerText.includes({!r})"
MARKUP = "<img src=x onerror=\"document.title = 'taken'\">"
ERROR = f"""Traceback (most recent call last):
  File "nodes.py", line 7, in run
ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler' {MARKUP}
"""


@pytest.fixture
def comfyui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInComfyUI]:
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    handlers = list(logging.getLogger().handlers)
    ready = StandInComfyUI(tmp_path, monkeypatch)
    ready.machine("triton=None")
    ready.load()
    with ready.serving():
        yield ready
    logging.getLogger().handlers[:] = handlers


def opened(chromium: Browser, comfyui: StandInComfyUI, width: int) -> Page:
    page = chromium.open(comfyui.address, width=width, scheme="dark")
    page.until(TEXT.format("Triton is not installed"))
    page.until("!" + TEXT.format("Looking at the machine"))
    return page


@pytest.mark.parametrize("width", [360, 1280])
def test_the_tab(chromium: Browser, comfyui: StandInComfyUI, pictures: Path, width: int) -> None:
    page = opened(chromium, comfyui, width)
    page.until(TEXT.format("No error was logged since ComfyUI started."))
    assert page.value(TEXT.format("it was not proven yet"))
    # a workflow fails while it is open
    logging.getLogger().error(ERROR)
    page.value("api.dispatchEvent(new Event('execution_error'))")
    page.until(TEXT.format(MARKUP))
    assert page.value("document.title") == "stand-in"
    assert page.value("document.querySelector('img')") is None
    page.screenshot(pictures / f"node-{width}.png")
    wide = page.value("[innerWidth, document.documentElement.scrollWidth]")
    assert wide[1] <= wide[0]
    assert page.violations() == []
    # the clipboard is refused to a page without a user: the text is there to be copied
    page.press("Copy report")
    page.until("document.querySelector('textarea').value.includes('AttrsDescriptor')")
    comfyui.machine()
    page.press("Look again")
    page.until(TEXT.format("fit; SageAttention in use"))
    assert {url.split("/")[2] for url in page.requests} == {comfyui.address.split("/")[2]}
    assert page.errors == []
    chromium.close(page)


def test_without_tritonwin_it_says_so(chromium: Browser, comfyui: StandInComfyUI) -> None:
    page = opened(chromium, comfyui, 1280)
    (comfyui.folder / "tritonwin.pyz").unlink()
    page.press("Look again")
    page.until(TEXT.format("tritonwin.bat is missing. Put it into custom_nodes/tritonwin."))
    chromium.close(page)

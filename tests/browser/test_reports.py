"""The HTML reports as a browser shows them: on a phone and a desk, light and dark.

Pictures of them are left in the folder that TRITONWIN_PICTURES names.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import report_pages
from browser import Browser, Scheme

pytestmark = pytest.mark.full
PHONE, DESK = 390, 1280


@pytest.fixture(params=report_pages.REPORTS)
def report(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / f"{request.param}.html"
    file.write_text(report_pages.REPORTS[request.param](), encoding="utf-8")
    return file


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_it_fits_and_asks_nobody(
    chromium: Browser, pictures: Path, report: Path, width: int, scheme: Scheme
) -> None:
    page = chromium.open(report.as_uri(), width=width, scheme=scheme)
    page.screenshot(pictures / f"{report.stem}-{width}-{scheme}.png")
    inner, needed = page.value("[innerWidth, document.documentElement.scrollWidth]")
    assert inner == width
    assert needed <= inner
    assert page.requests == [report.as_uri()]
    ground = page.value("getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(n) for n in ground.removeprefix("rgb(").removesuffix(")").split(","))
    assert (lightness > 382) == (scheme == "light"), ground


def test_every_text_can_be_read(chromium: Browser, report: Path) -> None:
    """Nothing is cut off by its box, on the narrowest screen."""
    page = chromium.open(report.as_uri(), width=320)
    page.value("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    cut = page.value(
        "[...document.querySelectorAll('body *:not(svg *)')].filter(e => "
        "e.getBoundingClientRect().right > 320 || e.scrollWidth > e.clientWidth + 1 && "
        "getComputedStyle(e).overflowX != 'visible').map(e => e.outerHTML.slice(0, 200))"
    )
    assert cut == []


def test_buttons_copy_where_scripts_run(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "doctor.html"
    file.write_text(report_pages.REPORTS["doctor"](), encoding="utf-8")
    counted = "['pre.command', 'button[aria-label]'].map(s => document.querySelectorAll(s).length)"
    commands, buttons = chromium.open(file.as_uri(), width=PHONE).value(counted)
    assert commands == buttons > 0
    commands, buttons = chromium.open(file.as_uri(), width=PHONE, scripts=False).value(counted)
    assert (commands > 0, buttons) == (True, 0)

"""The built site as a browser shows it from a folder: findable, readable, and its own."""

from __future__ import annotations

import gzip
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import dev
import pytest
from browser import Browser, Page

pytestmark = pytest.mark.full
CASES = [
    dev.ROOT / "tests" / "corpus" / folder / "cases.jsonl" for folder in ("cases", "threads/fresh")
]
FIND = """(text => {
  const open = document.querySelector("[data-md-toggle=search]");
  if (!open.checked) open.click();
  const field = document.querySelector("input[data-md-component=search-query]");
  field.focus();
  field.value = text;
  for (const kind of ["input", "keyup"]) field.dispatchEvent(new Event(kind, {bubbles: true}));
})"""
FOUND = """[document.querySelector(".md-search-result__meta").textContent.trim(),
  [...document.querySelectorAll(".md-search-result__item > a")].map(a => a.href)]"""
WEIGHED = """performance.getEntriesByType("resource").map(entry => entry.name)"""
DARK = "document.body.dataset.mdColorScheme === 'slate'"
# code that a reader would have to scroll for
CUT = """[...document.querySelectorAll("pre > code")].filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.textContent)"""
HEAVIEST = 300_000  # bytes of a page with all that it loads, as a server sends them


@pytest.fixture(scope="module")
def site() -> Path:
    folder = dev.ROOT / "build" / "site"
    dev.DOCS.make()
    built = subprocess.run(
        [str(dev.DOCS.python), "tools/build_site.py"], cwd=dev.ROOT, check=False, timeout=600
    )
    assert built.returncode == 0
    return folder


def results(page: Page, text: str) -> list[str]:
    """The problems whose pages the search names for a pasted text, best first."""
    page.value(f"{FIND}({json.dumps(text)})")
    last: Any = None
    for _ in range(100):
        time.sleep(0.1)
        found = page.value(FOUND)
        if found == last and "nitializ" not in found[0]:
            break
        last = found
    names = (Path(address.partition("#")[0]) for address in found[1])
    return list(dict.fromkeys(name.stem for name in names))


def test_an_error_leads_to_its_page(chromium: Browser, site: Path) -> None:
    """By its decisive lines, among the first three results."""
    page = chromium.open((site / "index.html").as_uri(), width=1280)
    cases = [json.loads(line) for path in CASES for line in path.read_text("utf-8").splitlines()]
    missed = [
        case["id"]
        for case in cases
        if not {case["label"], *case.get("accept", ())}
        & {*results(page, " ".join(case["key_lines"]))[:3]}
    ]
    print(f"{len(cases) - len(missed)} of {len(cases)}; not {', '.join(missed)}")
    assert len(missed) <= 0.1 * len(cases)


def pages(site: Path) -> Iterator[str]:
    """One page of each kind."""
    yield from ("index.html", "apps/comfyui-portable.html", "problems/index.html", "start/zh.html")
    yield from ("problems/embedded-python-no-headers.html", "tested.html", "commands.html")
    yield from ("patch/index.html", "patch/dlfcn.html", "library/facts.html", "maintainers.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_and_ask_nobody(
    chromium: Browser, pictures: Path, site: Path, width: int, scheme: Any
) -> None:
    for name in pages(site):
        page = chromium.open((site / name).as_uri(), width=width, scheme=scheme)
        page.screenshot(pictures / f"site-{name.replace('/', '-')}-{width}-{scheme}.png")
        assert page.value(DARK) == (scheme == "dark"), name
        assert page.value("document.documentElement.scrollWidth") <= width, name
        assert page.value(CUT) == [], name
        loaded = [*page.requests, *page.value(WEIGHED)]
        assert all(address.startswith(("file:", "data:")) for address in loaded), name
        own = {Path(unquote(a.removeprefix("file://"))) for a in loaded if a.startswith("file:")}
        weight = sum(len(gzip.compress(path.read_bytes())) for path in own)
        assert weight <= HEAVIEST, (name, weight)
        # no rule of axe is broken
        assert width < 1280 or page.violations() == [], name

#!/usr/bin/env python3
"""Take the pictures in docs/images: a report of doctor as a browser shows it.

    python tools/write_pictures.py

The report is of the demo's machine with two Tritons, whose facts were recorded in the Windows lane.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import browser
from browser import Scheme

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "images"
# name, width, height, scheme
SHOTS: tuple[tuple[str, int, int, Scheme], ...] = (
    ("doctor", 900, 730, "light"),
    ("doctor-phone", 390, 760, "dark"),
)
sys.path.insert(0, str(ROOT / "tests"))


def main() -> None:
    report_pages: Any = importlib.import_module("report_pages")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser.started(browser.provide()) as chromium:
        file = Path(folder, "doctor.html")
        file.write_text(report_pages.doctor(), encoding="utf-8")
        for name, width, height, scheme in SHOTS:
            page = chromium.open(file.as_uri(), width=width, scheme=scheme)
            page.screenshot(PICTURES / f"{name}.png", height=height)
            print(f"{name}.png")


if __name__ == "__main__":
    main()

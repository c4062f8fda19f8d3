#!/usr/bin/env python3
"""Let the three stories happen in the Windows lane and write docs/stories.md.

python tools/write_stories.py
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "stories.md"
sys.path[:0] = [str(ROOT / "tests" / "winlane")]


def main() -> None:
    from winlane import Lane

    stories: Any = importlib.import_module("stories")
    with tempfile.TemporaryDirectory() as folder, Lane.ready() as lane:
        text, _ = stories.page(lane, Path(folder))
    PAGE.write_text(text, encoding="utf-8", newline="\n")
    print(PAGE.name)


if __name__ == "__main__":
    main()

"""Texts that are compared as a whole with a file that somebody has read and found right."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "approved"


def check(name: str, text: str) -> None:
    """Compare with `approved/NAME`; TRITONWIN_APPROVE=1 writes it, to be read in git's diff."""
    file = FOLDER / name
    if os.environ.get("TRITONWIN_APPROVE"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
        pytest.fail(f"{name} was written: read the difference, and run without TRITONWIN_APPROVE")
    assert text == file.read_text("utf-8"), (
        f"if the difference is meant: TRITONWIN_APPROVE=1 pytest, then read {file.name} in git diff"
    )

"""Which state of the checkout a measurement is of."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def commit(*folders: str) -> str:
    """The commit, short; with "+" where something in these folders differs from it."""
    git = ["git", "-C", str(ROOT)]
    asked = (
        [*git, "rev-parse", "--short", "HEAD"],
        [*git, "status", "--porcelain", *folders],
    )
    head, changed = (subprocess.check_output(command, text=True).strip() for command in asked)
    return f"{head}+" if changed else head

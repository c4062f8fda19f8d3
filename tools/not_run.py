"""What a test run left out, and why: read from pytest's own report and its collection."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path


def skipped(reports: Iterable[Path]) -> Iterator[str]:
    """Reasons with their count, from the JUnit files that pytest wrote."""
    reasons: Counter[str] = Counter()
    for report in reports:
        # a file of our own pytest, made a moment ago
        for case in ET.parse(report).iter("skipped"):  # noqa: S314
            reasons[case.get("message") or "no reason given"] += 1
    for reason, count in sorted(reasons.items()):
        yield f"{count} x {reason}"


def heavy(python: Path, root: Path, folder: str = "tests") -> Iterator[str]:
    """The tests that only `--full` runs, counted by file."""
    command: Sequence[str] = (
        str(python), "-m", "pytest", folder, "-m", "full", "--collect-only", "-q",
    )  # fmt: skip
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    files = Counter(line.split("::")[0] for line in listed.stdout.splitlines() if "::" in line)
    for file, count in sorted(files.items()):
        yield f"{count} x {file}: only with --full"

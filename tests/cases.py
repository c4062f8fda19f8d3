"""Tables of cases that stand in files below tests/corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tritonwin.system import toml

CORPUS = Path(__file__).parent / "corpus"


def cases(file: str, name: str) -> list[Any]:
    """The rows of one table, as tuples or texts: `cases("redaction/texts.toml", "alex")`."""
    rows = toml.loads((CORPUS / file).read_text("utf-8"))[name]
    return [tuple(row) if isinstance(row, list) else row for row in rows]

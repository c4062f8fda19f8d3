"""From a log to problems: `explain_file`, `explain_lines`, `explain_stream`."""

from __future__ import annotations

from tritonwin.problems.explain.explain import (
    Explanation,
    explain_file,
    explain_lines,
    explain_stream,
)

__all__ = ["Explanation", "explain_file", "explain_lines", "explain_stream"]

"""Count the calls of tritonwin's own functions: `python benchmarks/own_calls.py doctor ...`.

Unlike a time this is the same on every machine. Imports count too: a module is one call.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "tritonwin"


def counted(words: Sequence[str]) -> Counter[tuple[str, str]]:
    """Calls by module and function of one command, in a process that has imported nothing of it."""
    calls: Counter[tuple[str, str]] = Counter()
    start = f"{PACKAGE}/"

    def profile(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(start):
            calls[file.removeprefix(start), frame.f_code.co_name] += 1

    sys.argv = ["tritonwin", *words]
    sys.path.insert(0, str(PACKAGE.parent))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.setprofile(profile)
        try:
            from tritonwin.__main__ import main

            main()
        finally:
            sys.setprofile(None)
    return calls


def main() -> None:
    calls = counted(sys.argv[1:])
    print(f"{calls.total()} calls")
    for (file, name), count in calls.most_common(20):
        print(f"{count:6} {file} {name}")


if __name__ == "__main__":
    main()

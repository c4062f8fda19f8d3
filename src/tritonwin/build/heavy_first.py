"""Stands before ninja and has it start the files that take longest, so that none is left over.

ninja starts what is ready in the order of its file. Where the longest come last, most processors
wait for a few of them at the end: FlashAttention's 73 files on 16 processors then take a seventh
longer than they need to.

    heavy_first.py NINJA WORD... -- ARGUMENTS OF NINJA
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path

_FILE = Path("build.ninja")
_STEP = "build "


def reordered(text: str, words: Sequence[str]) -> str:
    """The build file with each run of `build` lines sorted: names with the first word first.

    ninja knows a step by its command, which stays the same, so that nothing is built again.
    """

    def rank(line: str) -> int:
        name = line.rstrip().rpartition("/")[2]
        return next((n for n, word in enumerate(words) if word in name), len(words))

    lines = text.splitlines(keepends=True)
    if any(a.startswith(_STEP) and b.startswith(" ") for a, b in pairwise(lines)):
        return text  # a step with variables of its own: the lines below it belong to it
    sorted_lines: list[str] = []
    for is_step, group in groupby(lines, lambda line: line.startswith(_STEP)):
        run = list(group)
        sorted_lines += sorted(run, key=rank) if is_step else run
    return "".join(sorted_lines)


def main(argv: Sequence[str]) -> None:
    """Sort the file in the current folder, and become ninja."""
    program, *words = argv[: argv.index("--")]
    arguments = argv[argv.index("--") + 1 :]
    if _FILE.is_file():
        before = _FILE.read_text("utf-8")
        after = reordered(before, words)
        if after != before:
            _FILE.write_text(after, encoding="utf-8")
    os.execv(program, [program, *arguments])  # noqa: S606 - an absolute path


if __name__ == "__main__":
    main(sys.argv[1:])

"""Letters in paths that a program of Windows' old kind cannot be given."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import PureWindowsPath

from tritonwin.facts.model import Facts
from tritonwin.problems.check import Check, NotApplicable, finding, need_triton
from tritonwin.problems.model import Finding


def tinycc_path(facts: Facts) -> Iterator[Finding]:
    """TinyCC's own folder and Python's headers: both reach it as text in the ANSI code page."""
    triton = need_triton(facts)
    if not any(c.chosen and c.family == "tinycc" for c in facts.compilers):
        raise NotApplicable("TinyCC is not the compiler that Triton takes")
    page = facts.system.ansi_code_page
    try:
        codec = codecs.lookup(f"cp{page}")
    except LookupError:
        raise NotApplicable("the code page of Windows is not known") from None
    headers = facts.python_dev.headers if facts.python_dev else None
    for what, path in (("TinyCC lies in", triton.tinycc), ("Python's headers lie in", headers)):
        letters = _beyond(path or "", codec)
        if letters:
            yield finding(
                "tinycc-path-letters",
                f"{what} a folder whose name holds {letters}, which code page {page} has not",
                path or "",
                path=_folder(path or "", codec),
                value=letters,
            )


def _beyond(path: str, codec: codecs.CodecInfo) -> str:
    """The letters that the code page lacks. Windows would put `?` or a similar letter there."""
    return "".join(dict.fromkeys(letter for letter in path if not _has(codec, letter)))


def _has(codec: codecs.CodecInfo, letter: str) -> bool:
    try:
        codec.encode(letter)
    except UnicodeError:
        return False
    return True


def _folder(path: str, codec: codecs.CodecInfo) -> str:
    """The outermost folder that has to get another name."""
    whole = PureWindowsPath(path)
    outer = reversed((whole, *whole.parents))
    return str(next(each for each in outer if _beyond(str(each), codec)))


CHECKS = (
    Check(
        id="tinycc-path-letters",
        title="TinyCC can be given the paths of its files",
        run=tinycc_path,
    ),
)

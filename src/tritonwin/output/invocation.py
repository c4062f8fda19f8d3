"""Commands of tritonwin as they are typed here, from the way in which it was started.

For somebody who started the single file with an embedded Python, `tritonwin undo` is no command: it
is `.\\python_embeded\\python.exe tritonwin.pyz undo`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from tritonwin import COMMANDS
from tritonwin.system.host import Environment
from tritonwin.system.shells import word

NAME = "tritonwin"
_OF_UVX = ("\\archive-v", "\\environments-v")  # below its cache
# where a command stands, and not a sentence about one: alone in its line, or after a colon
_COMMAND = re.compile(
    rf"(^|: )([ \t]*){NAME} (?=(?:{'|'.join(COMMANDS)}|--help)(?![\w-]))",
    re.MULTILINE,
)
_WORD = re.compile(r'"([^"]*)"|([^\s"]+)')  # of a command line


def origin(direct_url: str | None) -> str | None:
    """The argument of `uvx --from`, by the direct_url.json that it left (PEP 610); else None."""
    import json
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    found = json.loads(direct_url or "{}")
    url, vcs = found.get("url"), found.get("vcs_info")
    if vcs:
        return f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return url2pathname(urlsplit(url).path) if url and url.startswith("file:") else url


def _origin() -> str | None:
    from importlib import metadata

    try:
        return origin(metadata.distribution(NAME).read_text("direct_url.json"))
    except (metadata.PackageNotFoundError, ValueError, KeyError, AttributeError):
        return None


def invocation(
    words: Sequence[str],
    script: str,
    environment: Environment,
    prefix: str,
    source: Callable[[], str | None] = _origin,
) -> str:
    """The words to type instead of `tritonwin`.

    Args:
        words: the whole command line, the interpreter first (`sys.orig_argv`).
        script: what of it Python was given to run (`sys.argv[0]`).
        prefix: the environment that runs tritonwin; that of uvx may be gone tomorrow.
        source: where uvx took tritonwin from, if not from the index: there may be none in that.
    """
    if any(part in prefix.replace("/", "\\") + "\\" for part in _OF_UVX):
        place = source()
        return _typed(["uvx", "--from", place, NAME]) if place else f"uvx {NAME}"
    before = _up_to(words, script)
    if before is None:
        return NAME
    if script.endswith(".bat") or (Path(script).stem == NAME and not script.endswith(".pyz")):
        # a command of its own, whose folder may not be on PATH: tritonwin.bat, an installed one
        folder = Path(script).absolute().parent
        on_path = any(folder == each for each in environment.path_entries())
        return NAME if on_path else _typed([script])
    return _typed(before)


def spoken(text: str) -> str:
    """The text with its commands of tritonwin as they are to be typed here."""
    start = _of_this_process()
    return text if start == NAME else _COMMAND.sub(lambda m: f"{m[1]}{m[2]}{start} ", text)


def typed(command: str) -> str:
    """The command as it is to be typed here, with paths below the current folder relative to it.

    A relative path needs no quotes for the folders above, and is a program in PowerShell too. A
    `python` of which no more is known is the one that somebody gave the single file to.
    """
    if command.startswith("python -") and sys.argv[0].endswith((".pyz", ".bat")):
        command = (word(sys.executable) or "python") + command.removeprefix("python")
    try:
        here = os.getcwd()  # noqa: PTH109 - the text alone counts
    except OSError:
        return spoken(command)
    return _WORD.sub(lambda m: _relative(m[1] or m[2], here) or m[0], spoken(command))


def _relative(path: str, here: str) -> str | None:
    slash = "\\" if "\\" in here else "/"
    start = here.rstrip(slash) + slash
    below = path[: len(start)]
    if below != start and (slash == "/" or below.casefold() != start.casefold()):
        return None
    return word(f".{slash}{path[len(start) :]}")


@cache
def _of_this_process() -> str:
    return invocation(sys.orig_argv, sys.argv[0], Environment(dict(os.environ)), sys.prefix)


def _up_to(words: Sequence[str], script: str) -> list[str] | None:
    """The words that start tritonwin; None where it was started in some other way."""
    if script.endswith((".pyz", ".bat")) or Path(script).stem == NAME:
        return [*words[: words.index(script) + 1]] if script in words else None
    before = list(words)
    for at in range(1, len(before) - 1):
        if before[at : at + 2] == ["-m", NAME]:
            return before[: at + 2]
    return None


def _typed(words: Sequence[str]) -> str:
    """One line for cmd and PowerShell; `tritonwin` where a word would not survive a shell."""
    quoted = [made for each in words if (made := word(each)) is not None]
    return " ".join(quoted) if len(quoted) == len(words) else NAME

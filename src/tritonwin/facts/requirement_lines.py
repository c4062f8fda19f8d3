"""Lines in an application's requirements that make pip look for upstream Triton on Windows."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from tritonwin.facts.model import RequirementLine
from tritonwin.facts.requirement import holds, read_requirement
from tritonwin.system import toml
from tritonwin.system.files import encoding_of, is_folder, names_in, read_bytes
from tritonwin.system.host import Host

_COMMENT = re.compile(r"(?:^|\s)#.*$")
_MOST_DOTS = 200  # in a line of pyproject.toml: keys with more parts are nobody's
_OPTION = re.compile(r"\s--?[A-Za-z].*$")  # "--hash=..." after a requirement

# A marker is judged for the machine that matters, whatever this one is.
_WINDOWS = {
    "os_name": "nt",
    "sys_platform": "win32",
    "platform_system": "Windows",
    "platform_machine": "AMD64",
    "extra": "",
}


def read_requirement_lines(host: Host) -> tuple[RequirementLine, ...]:
    """Lines that name `triton` and hold on Windows, where no such wheel exists.

    Looked at: `requirements*.txt` and `pyproject.toml` in the current and the application's
    folder, and in the folders directly below their `custom_nodes`.
    """
    roots = dict.fromkeys(folder for folder in (host.cwd, host.app) if folder)
    folders = dict.fromkeys(f for root in roots for f in (root, *_children(root / "custom_nodes")))
    return tuple(line for folder in folders for line in _in_folder(folder))


def _children(folder: Path) -> list[Path]:
    return [path for name in names_in(folder) if is_folder(path := folder / name)]


def _in_folder(folder: Path) -> Iterator[RequirementLine]:
    for path in (folder / n for n in fnmatch.filter(names_in(folder), "requirements*.txt")):
        for number, line in enumerate(_text(path).splitlines(), 1):
            text = _OPTION.sub("", _COMMENT.sub("", line)).strip(" \t\\")
            if asks_for_triton(text):
                yield RequirementLine(path=str(path), line=number, text=text)
    path = folder / "pyproject.toml"
    text = _text(path)
    for requirement in _dependencies(text):
        if asks_for_triton(requirement):
            yield RequirementLine(
                path=str(path), line=_line_of(requirement, text), text=requirement
            )


def asks_for_triton(requirement: str) -> bool:
    """Whether a requirement names the distribution `triton` and its marker holds on Windows."""
    parsed = read_requirement(requirement)
    return (
        parsed is not None
        and canonicalize_name(parsed.name) == "triton"
        and holds(parsed, _WINDOWS)
    )


def _dependencies(text: str) -> list[str]:
    # Python's reader takes a time that grows with the square of a key's parts
    if max((line.count(".") for line in text.split("\n")), default=0) > _MOST_DOTS:
        return []
    try:
        project: Any = toml.loads(text).get("project", {})
    except (ValueError, RecursionError):  # ValueError: also a number of thousands of digits
        return []
    listed = project.get("dependencies", []) if isinstance(project, dict) else []
    return [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []


def _line_of(requirement: str, text: str) -> int:
    start = text.find(requirement)
    return text.count("\n", 0, max(start, 0)) + 1


def _text(path: Path) -> str:
    data = read_bytes(path) or b""
    return data.decode(encoding_of(data), "replace")

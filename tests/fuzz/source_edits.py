"""Bytes as edits of something real: so that a mutator gets past a parser."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from typing import Any

import healthy
from triton_trees import sources

from tritonwin.facts.codec import Json, to_json
from tritonwin.patch.rules import FILES

VERSIONS = ("3.0.0", "3.3.1", "3.6.0", "3.8.0", "windows:3.5.1.post24")
# what stands where something else is expected
VALUES: tuple[Json, ...] = (
    *(
        "",
        " ",
        "0",
        "3.",
        "9" * 30,
        "x\ny",
        "\\\\?\\",
        "C:",
        "%PATH%",
        "a=b",
        "[",
        "+cu",
        "{x}",
        "é",
    ),
    *(None, True, -1, 0, 2**62, 0.5, [], {}),
)


class Bytes:
    """Numbers out of bytes; zeros where they end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def below(self, limit: int) -> int:
        """A number from 0 to `limit`, which it does not reach."""
        number = int.from_bytes(self._data[self._at : self._at + 2], "little")
        self._at += 2
        return number % limit if limit else 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        self._at += count
        return part


def edited_facts(data: bytes) -> Any:
    """The facts of a healthy machine as a tree, with values replaced, repeated or left out."""
    read = Bytes(data)
    tree: Any = to_json(healthy.HEALTHY)
    for _ in range(8):
        if not read:
            break
        places = list(_places(tree))
        holder, key = places[read.below(len(places))]
        how = read.below(len(VALUES) + 4)
        if how < len(VALUES):
            holder[key] = copy.deepcopy(VALUES[how])
        elif how == len(VALUES):
            del holder[key]
        elif how == len(VALUES) + 1 and isinstance(holder[key], list):
            holder[key] = copy.deepcopy(holder[key]) * 2
        else:
            holder[key] = read.take(6).decode("utf-8", "replace")
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        yield tree, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


@functools.cache
def originals() -> tuple[tuple[str, str], ...]:
    """Name and text of what the rules are about, of several releases."""
    return tuple(
        (file, path.read_text("utf-8"))
        for version in VERSIONS
        for file in FILES
        if (path := sources(version) / file).is_file()
    )


def edited_source(data: bytes) -> tuple[str, str]:
    """A module of Triton with lines moved, doubled, dropped, indented, or words exchanged."""
    read = Bytes(data)
    file, text = originals()[read.below(len(originals()))]
    lines = text.split("\n")
    for _ in range(12):
        if not read or not lines:
            break
        how, here, there = read.below(8), read.below(len(lines)), read.below(len(lines))
        line = lines[here]
        if how == 0:
            del lines[here]
        elif how == 1:
            lines.insert(there, line)
        elif how == 2:
            lines[here], lines[there] = lines[there], line
        elif how == 3:
            lines[here] = (" " * read.below(9)) + line.lstrip()
        elif how == 4:
            lines[here] = _exchanged(line, lines[there], read)
        elif how == 5:
            cut = read.below(len(line) + 1)
            lines[here] = line[:cut] + read.take(4).decode("utf-8", "replace") + line[cut:]
        elif how == 6:
            lines[here] = line[: read.below(len(line) + 1)]
        else:
            del lines[here : here + read.below(40)]
    return file, "\n".join(lines).replace("\r", "\n")


def _exchanged(line: str, other: str, read: Bytes) -> str:
    words, others = line.split(" "), other.split(" ")
    words[read.below(len(words))] = others[read.below(len(others))]
    return " ".join(words)

"""The ways of a log to us: consoles, redirections, CI systems, pages and mails."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Iterable

Disguise = Callable[[str], bytes]


def _lines(change: Callable[[str], str]) -> Disguise:
    return lambda text: "\n".join(map(change, text.split("\n"))).encode()


def _each(change: Callable[[str], Iterable[str]]) -> Disguise:
    return lambda text: "\n".join(
        part for line in text.split("\n") for part in change(line)
    ).encode()


def _cut(width: int) -> Callable[[str], Iterable[str]]:
    return lambda line: [line[i : i + width] for i in range(0, len(line), width)] or [""]


def _words(width: int) -> Callable[[str], Iterable[str]]:
    return lambda line: textwrap.wrap(line, width) or [""]


def _coloured(line: str) -> str:
    line = re.sub(r"\b(error|warning|fatal error)\b", "\x1b[1;31m\\1\x1b[0m", line)
    return f"\x1b[0m{line}\x1b[K"


def _powershell(text: str) -> bytes:
    first, _, rest = text.partition("\n")
    decorated = (
        f"python.exe : {first}\nAt line:1 char:1\n+ python.exe run.py *> run.log\n"
        "+ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "    + CategoryInfo          : NotSpecified: (:String) [], RemoteException\n"
        "    + FullyQualifiedErrorId : NativeCommandError\n \n"
    )
    return (decorated + rest).replace("\n", "\r\n").encode("utf-16")


def _issue(text: str) -> bytes:
    return (
        "---\nname: Bug report\nabout: It does not work\n---\n\n### Describe the bug\n\nIt stops. "
        f"Thanks for this great project!\n\n```shell\n{text}\n```\n\n### Versions\n\nlatest\n"
    ).encode()


def _appended(text: str) -> bytes:
    """PowerShell 5's >> behind a file that cmd wrote."""
    half = text.find("\n", len(text) // 2) + 1
    return text[:half].encode("utf-8") + text[half:].replace("\n", "\r\n").encode("utf-16-le")


def _code_page(text: str) -> bytes:
    pages = ("cp1252", "cp1251", "cp936", "cp932")
    fitting = (p for p in pages if text == text.encode(p, "replace").decode(p, "replace"))
    return text.encode(next(fitting, "utf-8"))


def _spinner(text: str) -> bytes:
    bar = "\r".join(
        f" {n:3}%|{'#' * (n // 10):10}| {n}/100 [00:0{n % 10}<00:01]" for n in range(0, 101, 9)
    )
    return "\n".join(
        f"{bar}\r{line}" if n % 5 == 0 else line for n, line in enumerate(text.split("\n"))
    ).encode()


def _last(lines: int) -> Disguise:
    return lambda text: "\n".join(text.rstrip("\n").split("\n")[-lines:]).encode()


def _read_from_a_picture(text: str) -> bytes:
    """0 and 1 in paths as the letters that look like them."""
    mistaken = str.maketrans("01", "Ol")
    return re.sub(r"[A-Za-z]:\\\S+", lambda path: path[0].translate(mistaken), text).encode()


# What is left of a log may not show its cause: then nothing is said, and nothing else.
CUT: dict[str, Disguise] = {"last 30 lines": _last(30), "last 5 lines": _last(5)}
DISGUISES: dict[str, Disguise] = {
    **CUT,
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "UTF-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16 with a mark": lambda text: text.encode("utf-16"),
    "UTF-16 big endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "UTF-16 after UTF-8": _appended,
    "a code page": _code_page,
    "PowerShell 5": _powershell,
    "ISO time": _lines(lambda line: f"2026-11-03T08:15:42.123Z {line}"),
    "CI time": _lines(lambda line: f"2026-11-03T08:15:42.1234567Z {line}"),
    "time in brackets": _lines(lambda line: f"[2026-11-03 08:15:42,123] {line}"),
    "time of day": _lines(lambda line: f"[08:15:42] {line}"),
    "docker compose": _lines(lambda line: f"comfyui-1  | {line}"),
    "quoted": _lines(lambda line: f"> {line}"),
    "indented": _lines(lambda line: f"    {line}"),
    "GitHub issue": _issue,
    "HTML": lambda text: html.escape(text).encode(),
    "ANSI colours": _lines(_coloured),
    "progress bars": _spinner,
    "cut at 80": _each(_cut(80)),
    "cut at 120": _each(_cut(120)),
    "wrapped at 80": _each(_words(80)),
    "wrapped at 100": _each(_words(100)),
    "wrapped and quoted": _each(lambda line: [f"> {part}" for part in _words(76)(line)]),
    "cut, with time": _each(lambda line: [f"2026-11-03T08:15:42Z {p}" for p in _cut(80)(line)]),
    "fenced": lambda text: f"Hi, it fails:\n\n```python\n{text}\n```\nany idea?".encode(),
    "JSON string": lambda text: json.dumps({"log": text}).encode(),
    "JSON string, not ASCII": lambda text: json.dumps({"log": text}, ensure_ascii=False).encode(),
    "Python repr": lambda text: repr(text).encode(),
    "Python repr of bytes": lambda text: repr(text.encode()).encode(),
    "[INFO]": _lines(lambda line: f"[INFO] {line}"),
    "logger": _lines(lambda line: f"2026-11-03 08:15:42,123 - INFO - {line}"),
    "backslashes lost": lambda text: text.replace("\\", "").encode(),
    "backslashes doubled": lambda text: text.replace("\\", "\\\\").encode(),
    "OCR": _read_from_a_picture,
    "a screen full of zeros": lambda text: text.replace("\n", "\0\n").encode(),
}

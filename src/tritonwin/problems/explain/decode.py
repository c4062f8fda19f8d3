"""Bytes of a log to text, whatever wrote them: one encoding, several in a row, or none at all."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

BLOCK = 1 << 20  # bytes read at once; also how much of a line without end is kept together

_ASCII_RUN = re.compile(rb"[\t\n\r\x20-\x7e]{24,}")
_CJK = re.compile("[\u4e00-\u9fff]+")
_KANA = re.compile("[\u3040-\u30ff]+")
# Cyrillic letters among Latin ones are German or French letters read wrongly
_CYRILLIC = re.compile("(?<![A-Za-z])[\u0410-\u044f\u0401\u0451]{2,}(?![A-Za-z])")
_LATIN = re.compile("[\u00c0-\u024f]+")
# GB2312's common characters: first byte B0-D7, second A1-FE
_GB_COMMON = re.compile(rb"[\xb0-\xd7][\xa1-\xfe]")
# The syllables of KS X 1001; where there are no others, it is Korean rather than Chinese.
_KS_SYLLABLE = re.compile(rb"[\xb0-\xc8][\xa1-\xfe]")
_PAIRS = {"cp936": _GB_COMMON, "cp949": _KS_SYLLABLE}
# What Windows consoles and compilers write in, most telling first.
_LEGACY = (
    ("cp932", _KANA),
    ("cp949", _CJK),
    ("cp936", _CJK),
    ("cp1251", _CYRILLIC),
    ("cp866", _CYRILLIC),
    ("cp1252", _LATIN),
    ("cp1250", _LATIN),
    ("cp850", _LATIN),
)


def text_blocks(stream: BinaryIO) -> Iterator[str]:
    """The stream as text in blocks of whole lines.

    A line longer than `BLOCK` comes in several blocks; only the last of them ends it. Nothing is
    refused: what is no text becomes U+FFFD.
    """
    head = stream.read(BLOCK)
    wide = _wide(head)
    newline = {"utf-16-le": b"\n\0", "utf-16-be": b"\0\n"}.get(wide or "", b"\n")
    decoder = _Decoder()
    rest = b""
    while head:
        following = stream.read(BLOCK)
        data = rest + head
        cut = data.rfind(newline) + len(newline)
        if not following:  # a last line without an end stays with those before it
            cut = len(data)
        elif cut < len(newline):
            cut = len(data) if len(data) >= BLOCK else 0
        rest = data[cut:]
        if cut:
            yield _decode_wide(data[:cut], wide) if wide else decoder.decode(data[:cut])
        head = following


def _wide(head: bytes) -> str | None:
    """The kind of UTF-16, by its mark or by where the zeros of its Latin letters stand."""
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    if b"\0" not in head[:8]:  # UTF-16 may follow, but the log does not begin with it
        return None
    sample = head[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if odd > len(sample) // 5 and odd > 4 * even:
        return "utf-16-le"
    if even > len(sample) // 5 and even > 4 * odd:
        return "utf-16-be"
    return None


def _decode_wide(data: bytes, codec: str) -> str:
    """UTF-16 in which another program may have appended lines of single bytes."""
    if data.count(0) * 50 >= len(data) * 24:
        return data.decode(codec, "replace")
    parts = []
    position = 0
    for run in _ASCII_RUN.finditer(data):
        if b" " not in run[0]:
            continue
        start, end = run.span()
        # the half of a wide character that looks like the run's first or last
        start += codec == "utf-16-be" and data[start - 1 : start] == b"\0"
        end -= codec == "utf-16-le" and data[end : end + 1] == b"\0"
        parts.append(data[position:start].decode(codec, "replace"))
        parts.append(data[start:end].decode("ascii"))
        position = end
    parts.append(data[position:].decode(codec, "replace"))
    return "".join(parts)


class _Decoder:
    """UTF-8 where it is valid, otherwise line by line, with one legacy code page for the log."""

    def __init__(self) -> None:
        self._legacy: str | None = None

    def decode(self, data: bytes) -> str:
        if b"\0" not in data:
            try:
                return data.decode("utf-8")
            except UnicodeDecodeError:
                pass
        return "\n".join(map(self._line, data.split(b"\n")))

    def _line(self, line: bytes) -> str:
        zeros = line.count(0)
        if zeros:
            line = line.strip(b"\0")
            if zeros > len(line) // 4:  # a line of UTF-16, its outer zeros lost with the line ends
                return (line + b"\0" * (len(line) % 2)).decode("utf-16-le", "replace")
            line = line.replace(b"\0", b"")
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            if self._legacy is None:
                self._legacy = legacy_code_page(line)
            return line.decode(self._legacy, "replace")


def legacy_code_page(sample: bytes) -> str:
    """The code page in which the bytes read best; cp1252 where no letter tells them apart."""
    scores = {codec: _score(sample[:BLOCK], codec, letters) for codec, letters in _LEGACY}
    return max(scores, key=scores.__getitem__) if any(scores.values()) else "cp1252"


def _score(sample: bytes, codec: str, letters: re.Pattern[str]) -> float:
    """The share of what is not ASCII that is a letter of the code page's language."""
    text = sample.decode(codec, "replace")
    foreign = sum(not c.isascii() for c in text)
    if not foreign:
        return 0.0
    if codec in _PAIRS:
        return len(_PAIRS[codec].findall(sample)) / foreign
    score = _length(letters, text) / foreign
    if codec == "cp932":
        return score + _length(_CJK, text) / foreign if score else 0.0
    return score * (0.9 if codec == "cp850" else 1.0)


def _length(letters: re.Pattern[str], text: str) -> int:
    return sum(map(len, letters.findall(text)))

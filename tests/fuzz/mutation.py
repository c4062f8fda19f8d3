"""Bytes changed at places: what hypothesis and the plain mutator of tools/fuzz.py have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

# (where, in 65536ths of the length; how many bytes are cut there; what is put there)
Splice = tuple[int, int, bytes]
WHOLE = 0x10000

# pieces of the formats that are read
WORDS: tuple[bytes, ...] = (
    *(b"\0", b"\n", b"\r\n", b"\t", b" ", b'"', b"'", b"[", b"]", b"{", b"}", b"<", b">", b"\\", b"/"),
    *(b"\xff", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\x1b[", b"\x9b", b"\xe2\x80\xae", b"\xed\xa0\x80"),
    *(b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\x01\0\0\0", b"MZ", b"PE\0\0", b"PK\x05\x06", b"PK\x01\x02"),
    *(b".whl", b"-py3-none-any.whl", b"+cu128torch2.8", b"://", b"@", b"#sha256=", b"null", b"1e999"),
    *(b"Traceback (most recent call last):\n", b"error: ", b"FAILED: ", b"[1/2] ", b'<a href="', b"def "),
)  # fmt: skip


def spliced(data: bytes, splices: Iterable[Splice]) -> bytes:
    for where, cut, new in splices:
        at = where * (len(data) + 1) // WHOLE
        data = data[:at] + new + data[at + cut :]
    return data


def random_splices(random: Random, others: Sequence[bytes]) -> list[Splice]:
    """A few changes; some bring a part of another seed."""
    return [
        (random.randrange(WHOLE), random.choice((0, 0, 1, 1, 4, 40, 400)), _piece(random, others))
        for _ in range(random.choice((1, 1, 2, 3, 8)))
    ]


def _piece(random: Random, others: Sequence[bytes]) -> bytes:
    kind = random.randrange(4)
    if kind == 0:
        return random.randbytes(random.choice((0, 1, 2, 4)))
    if kind == 1:
        return random.choice(WORDS) * random.choice((1, 1, 1, 50))
    if kind == 2:
        other = random.choice(others)
        start = random.randrange(len(other) + 1)
        return other[start : start + random.choice((4, 40, 400))]
    return bytes([random.randrange(256)])

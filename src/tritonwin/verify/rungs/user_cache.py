"""Look at the user's own cache of Triton: can it be written, and are its kernels whole?

Nothing of it is changed but for a file that is made and removed.
"""

from __future__ import annotations

import os
import struct
import tempfile
from typing import Any

from probe_runner import KnownError

MOST = 2000  # kernels, the newest
_ELF = b"\x7fELF"
_CODE = b".text."
# of an entry in the table of sections: name, kind, flags, address, place, size
_Section = struct.Struct("<IIQQQQ")
_KIND, _PLACE, _SIZE = 1, 4, 5
_NOBITS = 8  # takes no room in the file
_HELP = "The other rungs use empty caches: only this one is at fault"


def kernels(folder: str) -> list[str]:
    """Compiled kernels, the newest first."""
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.join(place, name) for name in names if name.endswith(".cubin")]
    return sorted(found, key=_age)[:MOST]


def _age(path: str) -> float:
    try:
        return -os.stat(path).st_mtime
    except OSError:
        return 0.0


def flaw_in(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return flaw_of(file.read())
    except OSError as error:
        return error.strerror


def flaw_of(image: bytes) -> str | None:
    """The sign that a cubin is not whole; None if there is none.

    The driver is not asked: it looks at a kernel's code when it is launched, and reads beyond the
    end of a file that was cut short.
    """
    if not image.startswith(_ELF):
        return "no cubin"
    try:
        segments, table = struct.unpack_from("<QQ", image, 32)  # e_phoff, e_shoff of 64-bit ELF
        width, rows, size, count, names = struct.unpack_from("<HHHHH", image, 54)
        if max(table + count * size, segments + rows * width) > len(image):
            return "it ends before its tables"
        sections = [_Section.unpack_from(image, table + n * size) for n in range(count)]
        strings = sections[names]
    except (struct.error, IndexError):
        return "its head makes no sense"
    if any(s[_KIND] != _NOBITS and s[_PLACE] + s[_SIZE] > len(image) for s in sections):
        return "it is shorter than its sections"
    for section in sections:
        start = strings[_PLACE] + section[0]
        if image[start : start + len(_CODE)] == _CODE:
            code = image[section[_PLACE] : section[_PLACE] + section[_SIZE]]
            return None if any(code) else "its code is empty"
    return "it holds no code"


def try_to_write(folder: str) -> None:
    """Make a file as Triton would, and take it away again with the folders made for it."""
    missing = []
    place = folder
    while not os.path.exists(place) and os.path.dirname(place) != place:
        missing.append(place)
        place = os.path.dirname(place)
    os.makedirs(folder, exist_ok=True)
    handle, path = tempfile.mkstemp(prefix="tritonwin-", dir=folder)
    os.close(handle)
    os.remove(path)
    for made in missing:
        os.rmdir(made)


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    folder = arguments["user_cache"]
    if not folder:
        return "the user has no cache yet", {}
    try:
        try_to_write(folder)
    except OSError as error:
        text = f"Triton's cache folder cannot be written: {folder}: {error}. {_HELP}"
        raise KnownError(text, "triton-home-not-writable") from error
    paths = kernels(folder)
    flaws = {path: flaw_in(path) for path in paths}
    bad = [f"{path}: {flaw}" for path, flaw in flaws.items() if flaw]
    if bad:
        shown = "; ".join(bad[:5])
        text = f"{len(bad)} of {len(paths)} cached kernels are damaged: {shown}. {_HELP}"
        raise KnownError(text, "damaged-cache-entry")
    return f"{folder} can be written; {len(paths)} kernels are whole", {"kernels": len(paths)}

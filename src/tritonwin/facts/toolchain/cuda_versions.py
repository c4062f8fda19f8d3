"""Versions written inside the files of a CUDA toolkit. Nothing is started to learn them."""

from __future__ import annotations

import json
import mmap
import re
from pathlib import Path

from tritonwin.system.files import is_file, read_text

_BANNER = re.compile(rb"release (\d{1,3}\.\d{1,3}), V\d")
_BANNER_LIMIT = 512 * 1024 * 1024  # ptxas of CUDA 13 has 27 MB
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CUDA_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE)
_MSVC_RANGE = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if\b[^\n]{0,200}_MSC_VER[ \t]*<[ \t]*\d+"
    r"[^\n]{0,200}_MSC_VER[ \t]*>=[ \t]*(\d{4})\b",
    re.MULTILINE,
)


def json_version(version_json: Path) -> str | None:
    """The toolkit's "12.8" from the `version.json` that installers leave (not pip, not conda)."""
    try:
        version = json.loads(read_text(version_json) or "")["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return _short(version) if isinstance(version, str) else None


def header_version(cuda_h: Path) -> str | None:
    """ "12.8" from `#define CUDA_VERSION 12080` in cuda.h (1000 x major + 10 x minor)."""
    found = _DEFINE.search(read_text(cuda_h) or "")
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None


def banner_version(program: Path) -> str | None:
    """ "12.8" from the banner `release 12.8, V12.8.93` that nvcc and ptxas carry as text."""
    if not is_file(program):
        return None
    try:
        size = program.stat().st_size
        if size == 0:
            return None
        with (
            program.open("rb") as stream,
            mmap.mmap(
                stream.fileno(), min(size, _BANNER_LIMIT), access=mmap.ACCESS_READ
            ) as content,
        ):
            found = _BANNER.search(content)
            return found[1].decode("ascii") if found else None
    except (OSError, ValueError):
        return None


def newest_host_msvc(host_config_h: Path) -> str | None:
    """The newest `_MSC_VER` that nvcc accepts without a fight: "1949".

    crt/host_config.h stops with #error on `_MSC_VER < 1910 || _MSC_VER >= 1950`.
    """
    found = _MSVC_RANGE.search(read_text(host_config_h) or "")
    return str(int(found[1]) - 1) if found else None


def _short(version: str) -> str | None:
    found = re.match(r"\d{1,3}\.\d{1,3}", version)
    return found[0] if found else None

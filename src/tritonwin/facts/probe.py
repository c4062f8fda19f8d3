"""Ask the Python that runs this file what it is; print the answer as one JSON object.

Started by `tritonwin.facts.target` as `python -I -B -X utf8 - COOKIE` with this
text on standard input. The answer stands between COOKIE and the reversed COOKIE, so noise of a
`sitecustomize` cannot be taken for it; only the reversed one proves that the text was run.

Standard library only, ASCII only, valid on Python 3.8 and later: the target may be old. It changes
nothing in the target, and imports neither torch nor triton.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the name that type checkers know; `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable


def attempt(notes: list[str], name: str, function: Callable[[], object]) -> object:
    """The function's value; None and a note where a damaged Python cannot say."""
    try:
        return function()
    except Exception as error:
        notes.append(f"{name}: {type(error).__name__}: {error}")
        return None


def extension_suffix() -> str:
    from importlib.machinery import EXTENSION_SUFFIXES

    return EXTENSION_SUFFIXES[0]


def has_pip() -> bool:
    from importlib.machinery import PathFinder

    return PathFinder.find_spec("pip") is not None


def free_threaded() -> bool:
    import sysconfig

    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def sysconfig_paths() -> dict[str, str | None]:
    import sysconfig

    names = ("include", "purelib", "platlib", "stdlib")
    known = sysconfig.get_path_names()
    paths: dict[str, str | None] = {
        name: sysconfig.get_path(name) for name in names if name in known
    }
    paths["platform"] = sysconfig.get_platform()
    return paths


def shares_system_site() -> bool:
    """False in a virtual environment that shuts out the packages of its base."""
    if sys.prefix == sys.base_prefix:
        return True
    with open(os.path.join(sys.prefix, "pyvenv.cfg"), "rb") as file:
        text = file.read(65536).decode("utf-8", "replace")
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name.strip().lower() == "include-system-site-packages":
            return value.strip().lower() == "true"
    return False


def user_site() -> str | None:
    """The folder that `site` would add for the user in a start without -I, or None."""
    if os.environ.get("PYTHONNOUSERSITE") or not shares_system_site():
        return None
    import site

    folder = site.getusersitepackages()
    return folder if os.path.isdir(folder) else None


def describe() -> dict[str, object]:
    notes: list[str] = []
    return {
        "version": ".".join(map(str, sys.version_info[:3])),
        "implementation": sys.implementation.name,
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "machine": os.uname().machine if hasattr(os, "uname") else None,
        "executable": sys.executable,
        "base_executable": getattr(sys, "_base_executable", None),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "sys_path": [entry for entry in sys.path if entry],
        "site_loaded": "site" in sys.modules and not sys.flags.no_site,
        "ext_suffix": attempt(notes, "ext_suffix", extension_suffix),
        "free_threaded": attempt(notes, "free_threaded", free_threaded),
        "paths": attempt(notes, "sysconfig", sysconfig_paths),
        "user_site": attempt(notes, "user site", user_site),
        "has_pip": attempt(notes, "pip", has_pip),
        "notes": notes,
    }


def main(cookie: str) -> None:
    import json

    data = (cookie + json.dumps(describe()) + cookie[::-1] + "\n").encode("ascii")
    while data:  # to the descriptor: `sys.stdout` may have been replaced or closed
        data = data[os.write(1, data) :]


main(sys.argv[1])

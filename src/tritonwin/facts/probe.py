"""Ask the Python that runs this file what it is; print the answer as one JSON object.

Started by `tritonwin.facts.target` as `python -I -B -X utf8 - COOKIE [--import MODULE]` with this
text on standard input. The answer stands between COOKIE and the reversed COOKIE, so noise of a
`sitecustomize` cannot be taken for it; only the reversed one proves that the text was run.

Standard library only, ASCII only, valid on Python 3.8 and later: the target may be old. It changes
nothing in the target, and imports neither torch nor triton unless `--import` names them.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # the name that type checkers know; `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable

ERROR_LENGTH = 4000


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


def isolated_by_pth() -> bool:
    """True if a `._pth` file rules sys.path: then there is no user site."""
    folder = os.path.dirname(sys.executable or "")
    names = os.listdir(folder) if os.name == "nt" and folder else []
    return any(name.lower().endswith("._pth") for name in names)


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
    pth = attempt(notes, "pth", isolated_by_pth)
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
        "user_site": None if pth else attempt(notes, "user site", user_site),
        "has_pip": attempt(notes, "pip", has_pip),
        "notes": notes,
    }


def silence_error_boxes() -> None:
    """A crash must end the process, not open a window that waits for a click."""
    if sys.platform == "win32":
        import msvcrt

        mode = msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX
        msvcrt.SetErrorMode(mode | msvcrt.SEM_NOOPENFILEERRORBOX)


def import_one(name: str) -> dict[str, object]:
    silence_error_boxes()
    started = time.perf_counter()
    answer: dict[str, object] = {"module": name, "outcome": "imported"}
    try:
        version = getattr(__import__(name), "__version__", None)
        answer["version"] = None if version is None else str(version)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are outcomes as well
        answer["outcome"] = "exception"
        answer["error"] = f"{type(error).__name__}: {error}"[:ERROR_LENGTH]
    answer["seconds"] = time.perf_counter() - started
    return answer


def send(cookie: str, answer: dict[str, object]) -> None:
    """Write to the descriptor: `sys.stdout` may have been replaced or closed."""
    import json

    data = (cookie + json.dumps(answer) + cookie[::-1] + "\n").encode("ascii")
    while data:
        data = data[os.write(1, data) :]


def main(argv: list[str]) -> None:
    cookie = argv[1]
    if argv[2:3] == ["--import"]:
        send(cookie, import_one(argv[3]))
        # the end of an interpreter with torch in it takes seconds, and may crash
        os._exit(0)
    send(cookie, describe())


main(sys.argv)

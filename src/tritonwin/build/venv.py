"""An environment of its own that sees the packages of the target and changes none of them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tritonwin.errors import UserError
from tritonwin.support.pip import Pip, PipError, last_words
from tritonwin.system.files import is_file
from tritonwin.system.process import NOTHING_FROM_HERE, run

_TIMEOUT = 120.0  # seconds; an antivirus program reads every file of a new environment
_INSTALL_TIMEOUT = 1800.0
_COMPLETE = "site-packages.txt"
_LINK = "tritonwin_target.pth"
_RUNTIME_FILES = frozenset({".exe", ".dll", ".pyd"})
_RUNTIME_FOLDERS = frozenset({"dlls", "include", "libs"})
# What an interpreter says of itself: where it imports from besides its standard library, and what
# is installed, the first of a name being the one that counts.
_ASK = """
import importlib.metadata as metadata, json, os, sys, sysconfig
own = {os.path.normcase(p) for p in sysconfig.get_paths().values()}
own -= {os.path.normcase(sysconfig.get_path(n)) for n in ("purelib", "platlib")}
paths = [p for p in sys.path if os.path.isdir(p) and os.path.normcase(p) not in own
         and os.path.basename(p) not in ("lib-dynload", "DLLs")]
found = {}
for d in metadata.distributions(path=sys.path):
    if d.metadata["Name"]:
        found.setdefault(d.metadata["Name"], d.version)
print(json.dumps({"paths": paths, "found": found, "purelib": sysconfig.get_path("purelib")}))
"""


def python_of(folder: Path) -> str:
    """The interpreter of an environment of this system."""
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def make(target: str, folder: Path, runtime: str | None = None) -> Path:
    """Make the environment in `folder`, or take the one that an earlier run has made there.

    The target is linked by a `.pth` file: its packages come after the environment's own, and what
    is installed into the environment never reaches it.

    Args:
        runtime: the folder of an embedded Python, which has no venv: it is copied.

    Returns:
        The folder of its own packages.

    Raises:
        UserError: the target is no Python that can make one.
    """
    python, complete = python_of(folder), folder / _COMPLETE
    if is_file(complete):
        return Path(complete.read_text("utf-8"))
    shutil.rmtree(folder, ignore_errors=True)
    if runtime:
        _copy(Path(runtime), Path(python).parent)
    else:
        _create(target, folder)
    paths = _ask(target)["paths"]
    site_packages = Path(_ask(python)["purelib"])
    site_packages.mkdir(parents=True, exist_ok=True)  # an embedded Python has none
    # a line of Python, since the encoding in which a `.pth` file is read differs by version
    link = f"import sys; sys.path.extend(p for p in {paths!a} if p not in sys.path)\n"
    (site_packages / _LINK).write_text(link, encoding="ascii")
    complete.write_text(str(site_packages), encoding="utf-8")
    return site_packages


def _create(target: str, folder: Path) -> None:
    arguments = ("-I", "-B", "-m", "venv", "--without-pip", str(folder))
    try:
        done = run(target, arguments, timeout=_TIMEOUT, cwd=folder.parent)
    except OSError as error:
        raise UserError(f"{target} cannot be started: {error}") from None
    if done.code != 0:
        said = done.err.decode("utf-8", "replace").strip().splitlines()
        raise UserError(
            f"{target} cannot make an environment to build in: {said[-1] if said else ''}",
            "Use a full Python of the same version, with the same torch: --python EXE",
        )


def _copy(runtime: Path, to: Path) -> None:
    """Copy the program of an embedded Python, its libraries, headers and import libraries.

    It runs from any folder, for its standard library is a zip file beside it. Without the `._pth`
    file it is as any other Python: it imports from the folder of its script, and from Lib.
    """
    to.mkdir(parents=True)
    try:
        for path in sorted(runtime.iterdir()):
            library = path.match("python*.zip")
            if path.is_file() and (library or path.suffix.lower() in _RUNTIME_FILES):
                shutil.copyfile(path, to / path.name)
            elif path.is_dir() and path.name.lower() in _RUNTIME_FOLDERS:
                shutil.copytree(path, to / path.name, copy_function=shutil.copyfile)
    except (OSError, shutil.Error) as error:
        raise UserError(
            f"the Python in {runtime} cannot be copied to build in: {error}",
            "See that it can be read, and that the disk has room.",
        ) from None


def _ask(python: str) -> dict[str, Any]:
    # PYTHONPATH is the user's and of the moment; what is built must not depend on it
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME"}}
    folder = Path(python).parent
    program = f"{NOTHING_FROM_HERE}\n{_ASK}"
    done = run(python, ("-B", "-X", "utf8", "-c", program), timeout=_TIMEOUT, env=env, cwd=folder)
    try:
        answer: dict[str, Any] = json.loads(done.out.splitlines()[-1])
    except (ValueError, IndexError):
        said = done.err.decode("utf-8", "replace").strip()[-300:]
        raise UserError(
            f"{python} does not say where its packages are ({done.ending()}): {said}",
            f'Run it by hand: "{python}" -c pass',
        ) from None
    answer["paths"] = [p for p in answer["paths"] if p != str(folder)]
    return answer


def installed(python: str | Path) -> Mapping[str, str]:
    """Normalised names and versions of what the environment sees, the target's included."""
    return {canonicalize_name(n): v for n, v in reversed(_ask(str(python))["found"].items())}


def missing(requirements: Iterable[str], found: Mapping[str, str]) -> tuple[str, ...]:
    """The requirements that are not installed."""
    wanted = ((text, Requirement(text)) for text in requirements)
    return tuple(
        text
        for text, one in wanted
        if (version := found.get(canonicalize_name(one.name))) is None
        or not one.specifier.contains(version, prereleases=True)
    )


def install(python: str, pip: Pip, wanted: Sequence[str], options: Sequence[str] = ()) -> None:
    """Install into the environment, wheels alone; what the target has is not installed twice.

    Args:
        options: of `pip install`: `--no-index`, `--find-links DIR`.

    Raises:
        PipError: pip refuses, in its own words.
    """
    where = ("--python", python, "install", "--quiet", "--no-warn-script-location")
    done = pip.run(
        [*where, "--only-binary", ":all:", *options, "--", *wanted], timeout=_INSTALL_TIMEOUT
    )
    if done.code != 0:
        raise PipError(
            f"the build needs {', '.join(wanted)}: {last_words(done)}",
            "Without a network give a folder with their wheels: --find-links DIR --offline",
        )

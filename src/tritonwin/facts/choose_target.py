"""Which Python is meant, when the user does not say."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.interpreter_kind import backslashes, is_store_alias
from tritonwin.facts.interpreter_places import Place, near, on_path
from tritonwin.facts.python_layout import describe, python_in
from tritonwin.facts.target import TargetError
from tritonwin.system.files import is_file, is_folder
from tritonwin.system.host import Host

NAME_IT = "Name the interpreter: --python PATH\\TO\\python.exe, or the application: --app FOLDER"

# Files that pipx and `uv tool` leave in the environments that they make for one program, and the
# places of `uvx`, which leaves none.
_TOOL_MARKERS = ("pipx_metadata.json", "uv-receipt.toml")
_TOOL_PLACES = ("\\uv\\tools\\", "\\pipx\\venvs\\", "\\archive-v0\\", "\\environments-v")


@dataclass(frozen=True)
class Choice:
    """The interpreter to examine, and why it is that one."""

    executable: str
    reason: str


def find_target(
    host: Host,
    python: str | None = None,
    app: Path | None = None,
    *,
    own_executable: str = sys.executable,
    own_prefix: str = sys.prefix,
) -> Choice:
    """Choose the interpreter to examine.

    Order: `python` (a file, a folder, or a name on PATH); the Python of `app`; the interpreter
    that runs this program when it is an embedded one, since nobody starts such a one by accident;
    `VIRTUAL_ENV`; `CONDA_PREFIX`; a Python that the current folder carries; our own interpreter
    when torch or Triton is installed in it; the first on PATH; our own. Store aliases and the
    environment that pipx or uv made for this program are never chosen.

    Raises:
        TargetError: nothing fits, or `python` or `app` lead to no interpreter.
    """
    if python is not None:
        return _named(python, host)
    if app is not None:
        return _of_application(app, host)
    avoided = Path(own_prefix) if is_tool_environment(Path(own_prefix)) else None
    own = None if avoided or not own_executable else Path(own_executable)
    for choice in _candidates(host, own):
        if not is_store_alias(choice.executable) and not _below(choice.executable, avoided):
            return choice
    if avoided is not None:
        msg = f"no Python to examine was found; {avoided} was made for tritonwin alone"
    else:
        msg = "no Python to examine was found"
    raise TargetError(msg, NAME_IT)


def is_tool_environment(prefix: Path) -> bool:
    """Whether pipx, `uv tool` or `uvx` made this environment for one program."""
    place = backslashes(prefix).lower() + "\\"
    return any(is_file(prefix / name) for name in _TOOL_MARKERS) or any(
        part in place for part in _TOOL_PLACES
    )


def _named(python: str, host: Host) -> Choice:
    path = Path(os.path.expanduser(python))  # noqa: PTH111 - Path's raises for an unknown user
    if is_folder(path):
        inside = python_in(path, host)
        if inside is None:
            raise TargetError(f"{path} is a folder without a Python in it", NAME_IT)
        return Choice(str(inside.absolute()), f"--python names its folder {path}")
    if path.parent == Path() and not is_file(path):
        # a bare name means PATH; the current folder is not searched for programs
        found = host.executables(path.name.removesuffix(".exe"))
        if not found:
            raise TargetError(f"no program called {python} on PATH", NAME_IT)
        return Choice(str(found[0]), "--python names it, found on PATH")
    return Choice(str(path.absolute()), "--python names it")


def _of_application(app: Path, host: Host) -> Choice:
    if not is_folder(app):
        raise TargetError(
            f"{app} is not a folder",
            "Name the folder of ComfyUI, FramePack or the like: --app FOLDER",
        )
    for place in near(app.absolute(), host):
        return Choice(str(place.path), f"the Python of the application in {app}")
    raise TargetError(f"no Python in or beside {app}", NAME_IT)


def _candidates(host: Host, own: Path | None) -> Iterator[Choice]:
    known = describe(own, "running", host) if own else None
    if known and known.kind == "embedded":
        yield Choice(str(own), "the embedded Python that runs tritonwin")
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = host.env.folder(name)
        path = python_in(folder, host) if folder else None
        if path is not None:
            yield Choice(str(path), f"the activated environment ({name})")
    yield from _choices(near(host.cwd, host), "in or beside the current folder")
    if known and known.packages:
        yield Choice(str(own), "the Python that runs tritonwin, with torch or Triton in it")
    yield from _choices(on_path(host), "the first Python on PATH")
    if own:
        yield Choice(str(own), "the Python that runs tritonwin")


def _choices(found: Iterable[Place], reason: str) -> Iterator[Choice]:
    return (Choice(str(place.path), reason) for place in found)


def _below(executable: str, folder: Path | None) -> bool:
    return folder is not None and Path(executable).is_relative_to(folder)

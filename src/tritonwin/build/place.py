"""The build folder: short, of ASCII, on a disk with room."""

from __future__ import annotations

import hashlib
import ntpath
import posixpath
from pathlib import Path

from tritonwin.build.model import GIB, Decision, Refusal
from tritonwin.build.order import Machine
from tritonwin.errors import UserError
from tritonwin.system.data_folder import data_folder

_LIMIT = 259  # characters of a path on Windows, the end of the string not counted


def parent(root: Path | None, machine: Machine) -> str:
    """The folder in which build folders are made: `C:\\tw\\b` where the paths must be short.

    Raises:
        UserError: its name is no text, which variables and files of the build could hold.
    """
    if root is not None:
        found = str(root.absolute())
    elif machine.host.windows:
        found = f"{machine.host.env.get('SystemDrive') or 'C:'}\\tw\\b"
    else:
        found = str(data_folder(machine.host.env) / "builds")
    if not found.isprintable():  # nor are bytes that cannot be decoded
        raise UserError(
            f"the name of the folder for builds is no text that programs can be given: {found!r}",
            "Name another one: --root DIR",
        )
    return found


def folder(recipe: str, above: str, *parts: str | None, windows: bool) -> str:
    """The build folder, the same for the same inputs, so that a build can be taken up again."""
    key = hashlib.sha256("\0".join(part or "" for part in parts).encode()).hexdigest()[:8]
    join = ntpath.join if windows else posixpath.join
    return join(above, f"{recipe}-{key}")


def decision(root: str, asked: Path | None, machine: Machine) -> Decision:
    short = "short and of ASCII, for paths of at most 260 characters"
    reason = "asked for" if asked else short if machine.host.windows else "tritonwin's own data"
    return Decision(name="folder", value=root, reason=reason, flag="--root")


def refusals(root: str, longest: int, machine: Machine) -> tuple[Refusal, ...]:
    """What stands against a folder. Only Windows' programs have these weaknesses, and blanks.

    Args:
        longest: characters of the longest path that the build makes below it.
    """
    if " " in root and not machine.host.windows:
        return (_refusal("", root, "has a blank, which the build's makefiles cut in two"),)
    if not machine.host.windows:
        return ()
    found = []
    if not root.isascii():
        why = "is not ASCII: nvcc and ninja fail there on some code pages"
        found.append(_refusal("", root, why))
    if root.startswith("\\\\"):
        found.append(_refusal("", root, "is on a server: cmd.exe cannot start there"))
    length = len(root) + 1 + longest
    if length > _LIMIT and machine.facts.system.long_paths is not True:
        why = f"makes paths of {length} characters, and Windows' limit of 260 is in force"
        found.append(_refusal("build-path-too-long", root, why))
    return tuple(found)


def too_small(needed: int, free: int | None, root: str) -> tuple[Refusal, ...]:
    """Refuse a disk without room."""
    if free is None or free >= needed:
        return ()
    what = f"has {free / GIB:.1f} GiB free, and the build needs about {needed / GIB:.1f}"
    return (_refusal("", root, what),)


def _refusal(problem: str, root: str, why: str) -> Refusal:
    return Refusal(
        problem=problem,
        message=f"the build folder {root} {why}",
        help="Name another one with --root: short, of ASCII, no blank, on a local disk with room",
    )

"""Put the import hook into a target, and find it there."""

from __future__ import annotations

import ast
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonwin.errors import UserError
from tritonwin.facts.model import Interpreter
from tritonwin.facts.triton_facts import HOOK, HOOK_START
from tritonwin.journal import Journal
from tritonwin.patch.hook.apply import Choice
from tritonwin.patch.hook.generate import SETTINGS, generate
from tritonwin.system.access import can_write
from tritonwin.system.files import is_file, is_folder, paths_in, read_text

_ON_DISK = "Patch its files instead: tritonwin patch apply --python {python}"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A hook that lies in a target.

    Attributes:
        starts: the `.pth` that starts it is there.
        current: this tritonwin would write the same.
    """

    folder: Path
    tool: str
    choice: Choice
    starts: bool
    current: bool


def find(target: Interpreter) -> Installed | None:
    """The hook that this Python would start, or could."""
    for folder in _folders(target):
        text = read_text(folder / HOOK)
        if text is None:
            continue
        settings = _settings(text)
        choice = Choice(
            only=tuple(settings.get("only", ())),
            allow_unknown=bool(settings.get("allow_unknown")),
        )
        return Installed(
            folder=folder,
            tool=str(settings.get("tool", "?")),
            choice=choice,
            starts=is_file(folder / HOOK_START),
            current=text.encode() == generate(choice)[HOOK],
        )
    return None


def place(target: Interpreter) -> Path:
    """The folder that a hook for this Python belongs in.

    Raises:
        UserError: this Python starts no hook, or nothing may be written where it looks for one.
    """
    advice = _ON_DISK.format(python=target.executable)
    if target.pth is not None and not target.pth.import_site:
        raise UserError(
            f"{target.pth.path} keeps this Python from looking for .pth files, so that nothing "
            "could start the import hook",
            advice,
        )
    if target.site_loaded is False:
        raise UserError(
            f"{target.executable} does not load `site`, so that nothing could start the hook",
            advice,
        )
    if target.version and tuple(map(int, target.version.split(".")[:2])) < (3, 9):
        raise UserError(f"the import hook needs Python 3.9, and this is {target.version}", advice)
    for folder in _folders(target):
        if can_write(folder):
            return folder
    raise UserError(
        f"nothing can be written into {' or '.join(map(str, _folders(target))) or 'this Python'}",
        "Start the terminal as administrator, or make one of them writable.",
    )


def write(journal: Journal, target: Interpreter, choice: Choice) -> tuple[Path, ...]:
    """Write the hook; the paths of its files. A hook that is there already is replaced.

    Raises:
        UserError: see `place`; JournalError where the system refuses.
    """
    there = find(target)
    folder = there.folder if there else place(target)
    files = {folder / name: content for name, content in generate(choice).items()}
    for path, content in files.items():
        journal.write(path, content)
    return tuple(files)


def drop_kept(folder: Path) -> None:
    """Delete what a hook in that folder kept in `__pycache__`; what stays does no harm."""
    for path in paths_in(folder / "__pycache__", f"{HOOK.removesuffix('.py')}.*"):
        with contextlib.suppress(OSError):
            path.unlink()


def _folders(target: Interpreter) -> tuple[Path, ...]:
    """Where this Python looks for `.pth` files, in its order; those of the user last."""
    listed = [*target.site_packages, *filter(None, [target.user_site])]
    folders = [Path(folder) for folder in dict.fromkeys(listed)]
    # the user's own is made when something is put there, as pip does it
    return tuple(f for f in folders if is_folder(f) or str(f) == target.user_site)


def _settings(text: str) -> dict[str, Any]:
    """What a hook says of itself; nothing where it is not as we wrote it."""
    line = next((line for line in text.split("\n") if line.startswith(SETTINGS)), "")
    try:
        found = ast.literal_eval(line.removeprefix(SETTINGS))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return {}
    return found if isinstance(found, dict) else {}

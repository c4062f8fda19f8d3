"""Let an embedded Python see its own site-packages: `import site` in its `._pth` file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tritonwin.facts.model import Interpreter
from tritonwin.remedies.plan import CannotRemedyError, Change
from tritonwin.remedies.remedy import Means, Remedy, Work

_COMMENTED = re.compile(rb"^[ \t]*#[ \t]*import site[ \t]*\r?$", re.MULTILINE)


def needed(target: Interpreter) -> bool:
    """Whether what pip installs would not be found: the `._pth` names no site-packages."""
    pth = target.pth
    if pth is None or pth.import_site:
        return False
    named = (entry.replace("\\", "/").rstrip("/").lower() for entry in pth.entries)
    return not any(entry.endswith("site-packages") for entry in named)


def plan(arguments: Mapping[str, str], means: Means) -> Change:
    del arguments
    pth = means.target.pth
    if pth is None:
        raise CannotRemedyError(f"{means.target.executable} has no ._pth file")
    return Change(
        action="enable-site",
        arguments={"path": pth.path},
        what=f"write `import site` into {Path(pth.path).name}",
        why="without it this Python does not see what is installed in Lib\\site-packages",
    )


def with_site(text: bytes) -> bytes:
    """The file with `import site` as a line of its own; python.org's comment becomes the line."""
    found = _COMMENTED.search(text)
    end = b"\r\n" if b"\r\n" in text or b"\n" not in text else b"\n"
    if found:
        carriage = b"\r" if found[0].endswith(b"\r") else b""
        return text[: found.start()] + b"import site" + carriage + text[found.end() :]
    gap = b"" if not text or text.endswith(b"\n") else end
    return text + gap + b"import site" + end


def _apply(change: Change, work: Work) -> None:
    path = Path(change.arguments["path"])
    work.journal.write(path, with_site(path.read_bytes()))


REMEDY = Remedy(plan=plan, apply=_apply, rank=40)

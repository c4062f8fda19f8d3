"""The imports of a Python: rename what shadows a package, show it its own site-packages."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

from tritonwin.facts.records import Interpreter
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import CannotRemedyError, EnableSite, RenameShadow

_COMMENTED = re.compile(rb"^[ \t]*#[ \t]*import site[ \t]*\r?$", re.MULTILINE)


def plan_rename(context: PlanContext, *, path: str) -> RenameShadow:
    del context
    old = Path(path)
    if not old.exists():
        raise CannotRemedyError(f"{old} is not there any more")
    # a name with a hyphen cannot be imported
    names = (f"{old.stem}-renamed{n if n > 1 else ''}{old.suffix}" for n in count(1))
    new = next(p for name in names if not (p := old.with_name(name)).exists())
    return RenameShadow(
        path=path,
        new=str(new),
        what=f"rename {old} to {new.name}",
        note="Code of yours that imports it has to be told its new name.",
    )


def apply_rename(change: RenameShadow, context: ApplyContext) -> None:
    context.journal.move(Path(change.path), Path(change.new))


def site_is_hidden(target: Interpreter) -> bool:
    """True where the `._pth` names no site-packages, so that nothing in it is found."""
    pth = target.pth
    if pth is None or pth.import_site:
        return False
    named = (entry.replace("\\", "/").rstrip("/").lower() for entry in pth.entries)
    return not any(entry.endswith("site-packages") for entry in named)


def plan_site(context: PlanContext) -> EnableSite:
    pth = context.target.pth
    if pth is None:
        raise CannotRemedyError(f"{context.target.executable} has no ._pth file")
    return EnableSite(
        path=pth.path,
        what=f"write `import site` into {Path(pth.path).name}",
        why="without it this Python does not see what is installed in Lib\\site-packages",
    )


def apply_site(change: EnableSite, context: ApplyContext) -> None:
    path = Path(change.path)
    context.journal.write(path, with_site(path.read_bytes()))


def with_site(text: bytes) -> bytes:
    """The file with `import site` as a line of its own; python.org's comment becomes the line."""
    found = _COMMENTED.search(text)
    end = b"\r\n" if b"\r\n" in text or b"\n" not in text else b"\n"
    if found:
        carriage = b"\r" if found[0].endswith(b"\r") else b""
        return text[: found.start()] + b"import site" + carriage + text[found.end() :]
    gap = b"" if not text or text.endswith(b"\n") else end
    return text + gap + b"import site" + end

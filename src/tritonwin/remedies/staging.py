"""Let the target's pip lay wheels out in a folder of ours, as if that were its environment.

Nothing of the target is touched: pip writes the installed layout, its RECORD and launchers below
the folder, and the journal moves it into place afterwards.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from tritonwin.journal import faultpoint
from tritonwin.remedies.plan import Source
from tritonwin.support.pip import (
    CONSTRAINT,
    PLACES,
    RESOLVE_TIMEOUT,
    Pip,
    PipError,
    by_address,
    last_words,
)

_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)\s*$")  # pip's own, in its form "raw"
_OPTIONS = (
    "--no-deps",
    "--ignore-installed",
    "--no-compile",
    "--no-build-isolation",
    "--no-warn-script-location",
    "--no-index",
    "--target=",  # a pip.ini may name a folder of its own
)


def stage(
    pip: Pip, wheels: Sequence[Source], root: Path, progress: Callable[[int, int | None], None]
) -> None:
    """Lay exactly these wheels out below `root`, in the folders that they have in the target.

    Args:
        progress: told how many bytes of how many have come of the file that pip downloads.

    Raises:
        PipError: a wheel cannot be fetched, has another hash, or cannot be laid out.
    """
    faultpoint("before pip")
    options = ["--prefix", _long(root), *_OPTIONS, *pip.progress_option()]
    addresses = (by_address(wheel.name, wheel.location, wheel.sha256) for wheel in wheels)
    arguments = ["install", *options, "--", *addresses]
    settled = PLACES | {CONSTRAINT}  # the plan was made within it
    done = pip.run(arguments, timeout=RESOLVE_TIMEOUT, heard=_listening(progress), settled=settled)
    faultpoint("after pip")
    if done.code != 0:
        raise PipError(
            f"pip could not lay out the wheels: {last_words(done)}",
            "Nothing was changed. Try again, or look at the file it names.",
        )
    _see_that_they_are_there(wheels, root)


def _see_that_they_are_there(wheels: Sequence[Source], root: Path) -> None:
    """What they replace is taken away next, so pip's word is not enough."""
    found = {canonicalize_name(i.name.partition("-")[0]) for i in root.rglob("*.dist-info")}
    missing = [wheel.name for wheel in wheels if canonicalize_name(wheel.name) not in found]
    if missing:
        raise PipError(
            f"pip did not lay {missing[0]} out where it was told to",
            "Nothing was changed. See what it is set to: pip config debug",
        )


def _listening(progress: Callable[[int, int | None], None]) -> Callable[[bytes], None]:
    """Hand on what pip says of a download; its lines come in pieces."""
    rest = bytearray()

    def heard(chunk: bytes) -> None:
        rest.extend(chunk)
        *lines, last = rest.split(b"\n")
        rest[:] = last
        for line in lines:
            found = _PROGRESS.match(line)
            if found:
                progress(int(found[1]), int(found[2]) or None)

    return heard


def staged_site_packages(root: Path) -> tuple[Path, ...]:
    """The folders below `root` that hold distributions: site-packages, one a scheme."""
    return tuple(sorted({info.parent for info in root.rglob("*.dist-info")}))


def _long(path: Path) -> str:
    """The path in the form for which Windows' limit of 260 characters does not hold.

    The folder of a journal is long, and so are names of files in torch.
    """
    return f"\\\\?\\{path}" if os.name == "nt" else str(path)

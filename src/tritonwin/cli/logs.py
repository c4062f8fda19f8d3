"""Logs that are given to commands: a file, or what another program still writes into a pipe."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from tritonwin.cli.signals import ctrl_c_is_not_ours
from tritonwin.errors import UserError


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The content of a log.

    Raises:
        UserError: it cannot be read, or is a device, which need not have an end.
    """
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise UserError(
                    f"{path} is a device, not a log",
                    "Give the name of a text file. To type or pipe the text in: "
                    "tritonwin explain -",
                )
            yield stream
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def piped_in() -> Iterator[BinaryIO]:
    """The content of standard input, which is not a terminal.

    Ctrl-C reaches the program that writes into the pipe as well. It ends that one: the pipe ends
    with it, and what came can be explained.

    Raises:
        UserError: it cannot be read.
    """
    stream = sys.stdin.buffer
    try:
        piped = stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except OSError:  # a stream of this process
        piped = False
    if piped and sys.platform != "win32":
        os.set_blocking(stream.fileno(), True)  # whoever started us may read it otherwise
    try:
        with ctrl_c_is_not_ours() if piped else nullcontext():
            yield stream
    except OSError as error:
        raise _unreadable("standard input", error) from None


def _unreadable(name: object, error: OSError) -> UserError:
    return UserError(
        f"cannot read {name}: {error.strerror or error}", "Give the name of a text file."
    )

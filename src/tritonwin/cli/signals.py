"""Signals that end a command: SIGTERM, SIGHUP, a closed console, Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

if sys.platform == "win32":
    _TOLD = (signal.SIGBREAK,)  # also sent by a console that is closed
else:
    _TOLD = (signal.SIGTERM, signal.SIGHUP)


class ToldToEndError(KeyboardInterrupt):
    """A signal to end; a KeyboardInterrupt, so that code that cleans up after Ctrl-C does so."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number  # the exit status that a shell reports for that signal


@contextmanager
def told_to_end() -> Iterator[None]:
    """In the block, the first such signal raises ToldToEndError; later ones are ignored.

    Signals that are ignored already, as under nohup, stay ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _TOLD if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        for each in ours:
            signal.signal(each, signal.SIG_IGN)
        raise ToldToEndError(number)

    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def ctrl_c_is_not_ours() -> Iterator[None]:
    """In the block, Ctrl-C is ignored here: the program that is waited for receives it too.

    As an exception it could come between the program's end and the reading of its status.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: None)  # the program would inherit SIG_IGN
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

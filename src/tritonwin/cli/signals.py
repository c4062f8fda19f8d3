"""Being told to end, by the system or another program or Ctrl-C, and whose business that is."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

if sys.platform == "win32":
    _TOLD = (signal.SIGBREAK,)  # also sent by a console that is closed
else:
    _TOLD = (signal.SIGTERM, signal.SIGHUP)


class ToldToEndError(KeyboardInterrupt):
    """A signal: whoever tidies up after Ctrl-C does so after this as well."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number  # what a shell calls the end by that signal


@contextmanager
def told_to_end() -> Iterator[None]:
    """For the block, the first such signal raises ToldToEndError; further ones change nothing.

    What is ignored already, as after nohup, stays ignored.
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
    """For the block, Ctrl-C means nothing here: a program that we wait for gets it as well.

    As an exception it could come between the end of that program and our taking note of its status.
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


@contextmanager
def ctrl_c_noted() -> Iterator[Callable[[], bool]]:
    """For the block, the first Ctrl-C is only noted: what is given tells whether it came.

    A second one is as ever.
    """
    noted = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.default_int_handler)
        noted.set()

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield noted.is_set
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield noted.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

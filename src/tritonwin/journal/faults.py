"""Crash injection: tests kill the process at a chosen point; elsewhere nothing happens."""

from __future__ import annotations

import os
import signal
import sys

VARIABLE = "TRITONWIN_FAULT_AT"
_passed: list[str] = []


def faultpoint(name: str) -> None:
    """A place at which a crash must do no harm: before and after every change.

    With TRITONWIN_FAULT_AT=n in the environment the process dies at its nth such place, as
    suddenly as by `kill -9`; 0 only counts them.
    """
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    _passed.append(name)
    if len(_passed) == int(wanted):
        # on Windows every signal but the console's means TerminateProcess
        if sys.platform == "win32":
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            os.kill(os.getpid(), signal.SIGKILL)


def passed() -> tuple[str, ...]:
    """The places that this process went through while the variable was set."""
    return tuple(_passed)

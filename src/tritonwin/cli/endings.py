"""Errors and exit codes: a short message for each kind of failure."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence

from tritonwin.cli.options import wants_json
from tritonwin.errors import Exit

# a disk, or the user's share of it
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_NO_THREAD = "can't start new thread"  # a RuntimeError of Python
_MORE_ROOM = "End other programs, or raise the limit (ulimit -v, -u; a container's), and try again."
_NOT_WHOLE = (
    "What is written there is not whole. Run it again without > FILE, or on another disk. "
    "Where it changed something: tritonwin undo --list"
)


def failed(args: Sequence[str], error: Exception) -> int:
    """Print why the command failed, or that its output could not be written; the exit status."""
    failure = _output_failure() if isinstance(error, OSError) else None
    # closed at its other end; Windows calls that an invalid argument
    closed = failure is not None and os.name == "nt" and failure.errno == errno.EINVAL
    if closed or BrokenPipeError in {type(error), type(failure)}:
        return Exit.PROBLEMS  # the reader has seen enough
    if os.environ.get("TRITONWIN_DEBUG"):
        import traceback

        with contextlib.suppress(OSError):
            traceback.print_exception(error)
    if failure is not None:
        reason = failure.strerror or str(failure)
        full = "the disk is full: " if failure.errno in _FULL else ""
        message = f"{full}the answer cannot be written to standard output: {reason}"
        say((), message, _NOT_WHOLE)
    elif isinstance(error, OSError) and error.errno in _FULL:
        say(args, f"the disk is full: {error}", "Make room, and run it again.")
    elif isinstance(error, MemoryError) or str(error) == _NO_THREAD:
        say(args, "the system gives no more threads or memory", _MORE_ROOM)
    else:
        say(
            args,
            f"tritonwin itself failed: {type(error).__name__}: {error}",
            "Run it again with the variable TRITONWIN_DEBUG=1 and report what it prints.",
        )
    return Exit.INTERNAL


def _output_failure() -> OSError | None:
    """The error of standard output, where it takes nothing any more.

    The error of a write to it looks like that of any other file: it is tried again.
    """
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def say(args: Sequence[str], message: str, help_text: str) -> None:
    """Print an error: as JSON on standard output if asked for, else or if that fails on stderr."""
    from tritonwin.output import documents
    from tritonwin.output.invocation import spoken
    from tritonwin.output.text import printable

    message, help_text = printable(message), spoken(printable(help_text))
    if wants_json(args):
        error = documents.ErrorText(message=message, help=help_text)
        with contextlib.suppress(OSError):
            documents.print_document(documents.ErrorReport(error=error))
            sys.stdout.flush()
            return
    with contextlib.suppress(OSError):
        print(f"error: {message}", file=sys.stderr)  # noqa: T201
        if help_text:
            print(f"help:  {help_text}", file=sys.stderr)  # noqa: T201

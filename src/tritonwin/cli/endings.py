"""Errors and exit codes: a short message for each kind of failure."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO, cast

from tritonwin.cli.options import wants_json
from tritonwin.errors import Exit

# a disk, or the user's share of it
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_CHANGING = frozenset({"fix", "install", "undo", "patch", "cache"})
_NO_THREAD = "can't start new thread"  # a RuntimeError of Python
_MORE_ROOM = "End other programs, or raise the limit (ulimit -v, -u; a container's), and try again."
# which of these only look
_LOOKING = frozenset({"--dry-run", "--list", "list", "status", "diff"})


class _Watched:
    """A stream that remembers its write errors, which otherwise look like those of any file."""

    def __init__(self, stream: Any, failures: list[OSError]) -> None:
        self._stream = stream
        self.failures = failures
        self.status: int | None = None  # of the command, where it is known already

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> _Watched:
        return _Watched(self._stream.buffer, self.failures)

    def write(self, data: Any) -> Any:
        with self._remembering():
            return self._stream.write(data)

    def flush(self) -> None:
        with self._remembering():
            self._stream.flush()

    @contextlib.contextmanager
    def _remembering(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failures.append(error)
            raise


@contextlib.contextmanager
def watched_output() -> Iterator[None]:
    """Watch standard output in the block, so that `failed` can tell its errors from others."""
    plain = sys.stdout
    sys.stdout = cast(TextIO, _Watched(plain, []))
    try:
        yield
    finally:
        sys.stdout = plain


def settle(status: int) -> int:
    """Note the exit status that an answer will have, before it is written; returns it."""
    if isinstance(sys.stdout, _Watched):
        sys.stdout.status = status
    return status


def unwritten() -> OSError | None:
    """The first error of writing to standard output, if any."""
    return next(iter(getattr(sys.stdout, "failures", ())), None)


def refuse(args: Sequence[str], message: str, help_text: str) -> int:
    """Print why the input cannot be used; the exit status for that."""
    _say(args, message, help_text)
    return Exit.USAGE


def failed(args: Sequence[str], error: Exception) -> int:
    """Print why the command failed, or that its output could not be written; the exit status."""
    failure = unwritten()
    if isinstance(error, BrokenPipeError) or (failure is not None and _reader_left(failure)):
        known: int | None = getattr(sys.stdout, "status", None)
        if known is not None:
            return known
        # the reader has seen enough; an interrupted change has been undone by then
        changing = _command(args) in _CHANGING and not _LOOKING & set(args)
        return Exit.PROBLEMS if changing else Exit.DONE
    if os.environ.get("TRITONWIN_DEBUG"):
        import traceback

        with contextlib.suppress(OSError):
            traceback.print_exception(error)
    if failure is not None:
        reason = failure.strerror or str(failure)
        full = "the disk is full: " if failure.errno in _FULL else ""
        message = f"{full}the answer cannot be written to standard output: {reason}"
        _print(message, _where_else(args))
    elif isinstance(error, OSError) and error.errno in _FULL:
        _say(args, f"the disk is full: {error}", "Make room, and run it again.")
    elif isinstance(error, MemoryError) or str(error) == _NO_THREAD:
        lacking = "memory" if isinstance(error, MemoryError) else "threads or memory"
        _say(args, f"the system gives no more {lacking}", _MORE_ROOM)
    else:
        _say(
            args,
            f"tritonwin itself failed: {type(error).__name__}: {error}",
            "Run it again with the variable TRITONWIN_DEBUG=1 and report what it prints.",
        )
    return Exit.INTERNAL


def _reader_left(failure: OSError) -> bool:
    """True if standard output was closed at its other end, an "invalid argument" on Windows."""
    return isinstance(failure, BrokenPipeError) or (
        os.name == "nt" and failure.errno == errno.EINVAL
    )


def _command(args: Sequence[str]) -> str:
    return next((word for word in args if not word.startswith("-")), "doctor")


def _where_else(args: Sequence[str]) -> str:
    """Advice on getting the whole answer, or on finding out what was changed."""
    command = _command(args)
    if command in _CHANGING:
        return "What is written there is not whole. What was changed: tritonwin undo --list"
    if command == "build":
        return "What is written there is not whole. What was built is kept: build with --resume"
    return "What is written there is not whole. Run it again without > FILE, or on another disk."


def _say(args: Sequence[str], message: str, help_text: str) -> None:
    """Print an error: as JSON on standard output if asked for, else or if that fails on stderr."""
    from tritonwin.output.text import printable

    message, help_text = printable(message), printable(help_text)
    if wants_json(args):
        # built here: the import of output.documents may be what failed
        import json

        error = {"message": message, "help": help_text}
        try:
            print(json.dumps({"schema": "tritonwin.error/1", "error": error}, indent=2), flush=True)  # noqa: T201
        except OSError:
            pass
        else:
            return
    _print(message, help_text)


def _print(message: str, help_text: str) -> None:
    from tritonwin.output.invocation import spoken

    with contextlib.suppress(OSError):
        print(f"error: {message}", file=sys.stderr)  # noqa: T201
        if help_text:
            print(spoken(f"help:  {help_text}"), file=sys.stderr)  # noqa: T201

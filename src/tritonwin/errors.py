"""Errors that the user can solve, and the exit statuses."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses of all commands."""

    DONE = 0  # done, or nothing worse than information
    PROBLEMS = 1  # at least one error or warning, or a proof that failed
    USAGE = 2  # wrong use, or a target or input that cannot be used
    INTERNAL = 3  # tritonwin itself failed
    GPU_UNTRIED = 4  # verify: nothing failed, and nothing that needs a GPU was tried


class UserError(Exception):
    """An input that cannot be used.

    Attributes:
        help: what to do, a sentence or a command; may be empty.
    """

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002 - as it is printed
        super().__init__(message)
        self.help = help

"""Errors of the lane."""

from __future__ import annotations


class LaneError(Exception):
    """The lane itself failed: a tool ended in an error, or a request was invalid."""


class LaneUnavailable(LaneError):  # noqa: N818 - a state, and its name is the API
    """This machine cannot run the lane; the text says why. Tests skip on it."""


class HeadersUnavailable(LaneUnavailable):
    """A full Python of a minor version cannot be made: the headers for it cannot be had."""


class TimedOut(LaneError):  # noqa: N818
    """A Windows command ran past its time limit and was killed with all it had started."""

    def __init__(self, command: str, seconds: float, stdout: str, stderr: str) -> None:
        super().__init__(f"killed after {seconds:g} s: {command}")
        self.command = command
        self.seconds = seconds
        self.stdout = stdout
        self.stderr = stderr

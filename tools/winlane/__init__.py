"""The Windows lane: real Windows CPython and real Windows wheels on Linux, under Wine.

    from winlane import Lane, Machine

`Lane.ready()` sets everything up below one cache folder, without root and without installing
anything; `Machine` is the Windows of one test, restored as it was found. See `python -m winlane`.
"""

from winlane.environment import Environment
from winlane.errors import HeadersUnavailable, LaneError, LaneUnavailable, TimedOut
from winlane.lane import Lane
from winlane.machine import Machine
from winlane.process import Result

__all__ = [
    "Environment",
    "HeadersUnavailable",
    "Lane",
    "LaneError",
    "LaneUnavailable",
    "Machine",
    "Result",
    "TimedOut",
]

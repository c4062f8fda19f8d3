"""The outcome of `tritonwin driver`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# "on", "off": how it stands; "switched-on", "switched-off": what was done; "unchanged": it was so
# before; "refused": this Triton's driver is not known, and nothing was changed
DriverStatus = Literal["on", "off", "switched-on", "switched-off", "unchanged", "refused"]


@dataclass(frozen=True, kw_only=True)
class BackendDriver:
    """The driver of one of Triton's backends.

    Attributes:
        name: "nvidia" or "amd".
        known: it can be replaced.
        reason: why it cannot; "" where it can.
    """

    name: str
    known: bool
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class DriverOutcome:
    """The state of a Triton's driver after the command.

    Attributes:
        version: of Triton, as its __init__.py says.
        folder: where the import hook with the driver lies; None where there is none.
        starts: Python starts the hook.
        damaged: the hook was cut short or spoilt, and does nothing.
        current: this tritonwin would write the same hook.
        changed: files that were written or deleted.
    """

    package: str
    version: str | None
    status: DriverStatus
    backends: tuple[BackendDriver, ...]
    folder: str | None = None
    starts: bool = False
    damaged: bool = False
    current: bool = False
    changed: tuple[str, ...] = ()
    journal: str | None = None
    notes: tuple[str, ...] = ()

"""The outcome of `tritonwin driver`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tritonwin.patch.records import Hook

# "on", "off": how it stands; "switched-on", "switched-off": what was done; "unchanged": it was so
# before; "refused": this Triton's driver is not known, and nothing was changed
DriverStatus = Literal["on", "off", "switched-on", "switched-off", "unchanged", "refused"]


@dataclass(frozen=True, kw_only=True)
class BackendDriver:
    """The driver of one of Triton's backends.

    Attributes:
        name: "nvidia" or "amd".
        reason: why it cannot be replaced; "" where it can.
    """

    name: str
    reason: str = ""

    @property
    def known(self) -> bool:
        return not self.reason


@dataclass(frozen=True, kw_only=True)
class DriverOutcome:
    """The state of a Triton's driver after the command.

    Attributes:
        version: of Triton, as its __init__.py says.
        hook: the import hook with the driver, or a damaged one.
        changed: files that were written or deleted.
    """

    package: str
    version: str | None
    status: DriverStatus
    backends: tuple[BackendDriver, ...]
    hook: Hook | None = None
    changed: tuple[str, ...] = ()
    journal: str | None = None
    notes: tuple[str, ...] = ()

"""The driver in Python, carried into a target by the import hook, and taken out again."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.driver.records import BackendDriver, DriverOutcome
from tritonwin.facts.torch_triton import version_of
from tritonwin.journal import undo
from tritonwin.patch.session import PatchSession
from tritonwin.system import process
from tritonwin.system.files import read_text

_RESTART = "Programs that are running keep the driver that they loaded; restart them."


def read_backends(package: Path) -> tuple[BackendDriver, ...]:
    """The drivers of a Triton's package folder, as far as their C text tells."""
    texts = {
        name: read_text(package / "backends" / name / "driver.c") for name in ("nvidia", "amd")
    }
    return tuple(
        BackendDriver(name=name, reason=_unknown(name, text))
        for name, text in texts.items()
        if text
    )


def _unknown(name: str, text: str) -> str:
    # most of what `fix` would import otherwise where there is nothing to check
    from tritonwin.driver.payload import cuda, hip
    from tritonwin.driver.payload.sources import UnknownDriverError, read_module

    try:
        (hip if name == "amd" else cuda).check(read_module(text))
    except UnknownDriverError as error:
        return str(error)
    return ""


@dataclass(frozen=True, kw_only=True)
class DriverSession:
    """One Python's Triton.

    Attributes:
        timeout: seconds for a start of that Python.
    """

    triton: PatchSession
    timeout: float

    def status(self) -> DriverOutcome:
        """The driver's state. A Triton with it on is imported to see whether it takes it."""
        there = self.triton.find_hook()
        hook = there if there and (there.driver or there.damaged) else None
        backends = read_backends(self.triton.package)
        started = hook is not None and hook.driver and hook.starts
        if started:
            said = self._report()
            backends = tuple(
                replace(b, reason=said.get(f"backends/{b.name}/driver.py") or b.reason)
                for b in backends
            )
        return DriverOutcome(
            package=str(self.triton.package),
            version=version_of(self.triton.package),
            status="on" if started and any(b.known for b in backends) else "off",
            backends=backends,
            hook=hook,
        )

    def switch_on(self) -> DriverOutcome:
        """Write the hook, or into a hook that is there; kept only if Triton takes it.

        Raises:
            UserError: nothing can be written where it belongs.
        """
        before = self.status()
        if not any(each.known for each in read_backends(self.triton.package)):
            return replace(before, status="refused")
        if before.status == "on" and before.hook and before.hook.current:
            return replace(before, status="unchanged")
        title = f"run Triton's driver in {self.triton.package} in Python"
        there = self.triton.find_hook()
        choice = there.choice if there else None
        journal, files = self.triton.write_hook("driver", title, choice, driver=True)
        after = self.status()
        if after.status != "on":
            with self.triton.locked():
                undo(self.triton.store, journal)
            return replace(before, status="refused", backends=after.backends)
        return replace(
            after, status="switched-on", changed=files, journal=journal, notes=(_RESTART,)
        )

    def switch_off(self) -> DriverOutcome:
        """Take the driver out of the hook, and the hook away if nothing else is in it."""
        there = self.triton.find_hook()
        if there is None or not (there.driver or there.damaged):
            return replace(self.status(), status="unchanged")
        title = f"compile Triton's driver in {self.triton.package} again"
        journal, files = self.triton.take_from_hook("driver", title, there.choice, driver=False)
        return replace(
            self.status(), status="switched-off", changed=files, journal=journal, notes=(_RESTART,)
        )

    def _report(self) -> dict[str, str]:
        """By file of the target's Triton: "", or why it does not use the driver.

        A Triton that cannot be imported for another reason says nothing about its driver.
        """
        try:
            done = process.run(self.triton.owner, ["-m", "_tritonwin_hook"], timeout=self.timeout)
            said: dict[str, str] = json.loads(done.out.splitlines()[-1])["driver"]
        except (OSError, ValueError, LookupError):
            return {}
        return said

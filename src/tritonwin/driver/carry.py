"""The driver in Python, carried into a target by the import hook, and taken out again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.driver.payload import cuda, hip
from tritonwin.driver.payload.sources import UnknownDriverError, read_module
from tritonwin.driver.records import BackendDriver, DriverOutcome, DriverStatus
from tritonwin.errors import UserError
from tritonwin.facts.records import Interpreter
from tritonwin.facts.torch_triton import HOOK, HOOK_START, version_of
from tritonwin.journal import undo
from tritonwin.patch.hook import install
from tritonwin.patch.hook.install import Installed, Payload
from tritonwin.patch.operations import PatchPlace
from tritonwin.system import process
from tritonwin.system.files import read_text

NAME = "driver"
ACTION = "driver"  # of the plans of its journals
BACKENDS = {"nvidia": cuda, "amd": hip}
_PARTS = ("__init__.py", "adopt.py", "cuda.py", "hip.py", "launch.py", "sources.py")
_RESTART = "Programs that are running keep the driver that they loaded; restart them."


def driver_payload() -> Payload:
    """The package `_tritonwin_driver` of a target."""
    files = tuple(f"backends/{backend}/driver.py" for backend in BACKENDS)
    return install.payload(
        NAME, "tritonwin.driver.payload", _PARTS, files=files, start="adopt:start"
    )


def with_driver(there: Installed | None) -> tuple[Payload, ...]:
    """The payloads of a hook, this one among them."""
    others = [each for each in there.payloads if each.name != NAME] if there else []
    return (*others, driver_payload())


def read_backends(package: Path) -> tuple[BackendDriver, ...]:
    """The drivers of a Triton's package folder, as far as their C text tells."""
    return tuple(_read_backends(package))


def _read_backends(package: Path) -> Iterator[BackendDriver]:
    for name, maker in BACKENDS.items():
        text = read_text(package / "backends" / name / "driver.c")
        if text is None:
            continue
        try:
            maker.check(read_module(text))
        except UnknownDriverError as error:
            yield BackendDriver(name=name, known=False, reason=str(error))
        else:
            yield BackendDriver(name=name, known=True)


@dataclass(frozen=True, kw_only=True)
class DriverSession:
    """One Python's Triton.

    Attributes:
        timeout: seconds for a start of that Python.
    """

    place: PatchPlace
    target: Interpreter
    timeout: float

    def status(self) -> DriverOutcome:
        """How it stands; a Triton with the driver on is imported to see whether it is used."""
        there = install.find(self.target)
        if there is None or not _carries(there):
            return self._outcome("off")
        outcome = self._outcome("on")
        said = self._report()
        return replace(outcome, notes=(said,) if said else ())

    def switch_on(self) -> DriverOutcome:
        """Write the hook, or into a hook that is there; kept only if Triton takes it.

        Raises:
            UserError: nothing can be written where it belongs.
        """
        backends = read_backends(self.place.package)
        if not any(each.known for each in backends):
            return self._outcome("refused")
        there = install.find(self.target)
        if there is not None and driver_payload() in there.payloads and there.starts:
            return self._outcome("unchanged")
        title = f"run Triton's driver in {self.place.package} in Python"
        with self.place.locked(), self.place.journal(title, action=ACTION) as journal:
            choice = there.choice if there else None
            files = install.write(journal, self.target, choice, with_driver(there))
        said = self._report()
        if said and all(f"backends/{each.name}/" in said for each in backends if each.known):
            with self.place.locked():
                undo(self.place.store, journal.header.id)
            return replace(self._outcome("refused"), notes=(said,))
        outcome = self._outcome("switched-on")
        return replace(
            outcome,
            changed=tuple(map(str, files)),
            journal=journal.header.id,
            notes=(*([said] if said else []), _RESTART),
        )

    def switch_off(self) -> DriverOutcome:
        """Take the driver out of the hook, and the hook away if nothing else is in it."""
        there = install.find(self.target)
        if there is None or not _carries(there):
            return self._outcome("unchanged")
        with self.place.locked():
            last = self._last()
            if last is not None and not undo(self.place.store, last).conflicts:
                identifier = last
                install.drop_kept(there.folder)
                files: tuple[Path, ...] = (there.folder / HOOK, there.folder / HOOK_START)
            else:
                title = f"compile Triton's driver in {self.place.package} again"
                with self.place.journal(title, action=ACTION) as journal:
                    files = install.remove_payload(journal, self.target, NAME)
                identifier = journal.header.id
        outcome = self._outcome("switched-off")
        return replace(
            outcome,
            changed=tuple(map(str, files)),
            journal=identifier,
            notes=(_RESTART,),
        )

    def _last(self) -> str | None:
        """The journal that switched it on, where nothing was changed after it."""
        headers = [h for h in self.place.store.journals(self.place.target) if h.state != "undone"]
        ours = headers and self.place.wrote(headers[-1], ACTION)
        return headers[-1].id if ours else None

    def _outcome(self, status: DriverStatus) -> DriverOutcome:
        there = install.find(self.target)
        there = there if there and _carries(there) else None
        return DriverOutcome(
            status=status,
            target=self.target,
            package=str(self.place.package),
            version=version_of(self.place.package),
            backends=read_backends(self.place.package),
            folder=str(there.folder) if there else None,
            starts=there.starts if there else False,
            current=driver_payload() in there.payloads if there else False,
        )

    def _report(self) -> str:
        """The backends of the target's Triton that do not use the driver, and why; "": all do.

        A Triton that cannot be imported for another reason says nothing about its driver.
        """
        try:
            done = process.run(
                self.target.executable, ["-m", "_tritonwin_hook"], timeout=self.timeout
            )
            report = json.loads(done.out.splitlines()[-1])
            return str(report["payloads"].get(NAME, ""))
        except (OSError, ValueError, LookupError):
            return ""


def _carries(there: Installed) -> bool:
    return any(each.name == NAME for each in there.payloads)


def of_python(
    python: str | None,
    app: Path | None,
    timeout: float,
    may_start: Callable[[str], bool] = lambda _: False,
) -> DriverSession:
    """The Triton that an interpreter imports.

    Raises:
        UserError: there is no such interpreter, or it has no Triton.
    """
    from tritonwin.patch import session

    found = session.of_python(python, app, timeout, may_start)
    if found.target is None:
        raise UserError("the Python is not known", "Name it: --python EXE")
    return DriverSession(place=found.place, target=found.target, timeout=timeout)

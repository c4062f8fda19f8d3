"""The machine as finders see it: environment, registry and folders, replaceable in tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tritonwin.errors import UserError
from tritonwin.system.files import is_file, is_folder
from tritonwin.system.registry import Registry, this_registry

DATA_VARIABLE = "TRITONWIN_HOME"


@dataclass(frozen=True)
class Environment:
    """Environment variables with Windows' rule for names: case does not matter there."""

    data: Mapping[str, str] = field(default_factory=dict)
    windows: bool = os.name == "nt"

    def get(self, name: str) -> str | None:
        if not self.windows:
            return self.data.get(name)
        wanted = name.upper()
        return next((v for k, v in self.data.items() if k.upper() == wanted), None)

    def folder(self, name: str, below: str = "") -> Path | None:
        """The variable as a folder, without stray blanks or quotes; None when unset or empty.

        `below` names a folder or file in it.
        """
        value = (self.get(name) or "").strip().strip('"')
        return Path(value, below) if value else None

    def path_entries(self) -> tuple[Path, ...]:
        """The folders of PATH in order, quotes removed, empty entries left out."""
        separator = ";" if self.windows else ":"
        parts = (part.strip().strip('"') for part in (self.get("PATH") or "").split(separator))
        return tuple(Path(part) for part in parts if part)


def data_folder(environment: Environment) -> Path:
    """The folder of journals, and of what was proven.

    `%LOCALAPPDATA%\\tritonwin`, `~/.local/share/tritonwin`, or where the variable names another
    one, for a home that cannot be written.
    """
    from platformdirs import user_data_dir  # late: the finders run where it is not installed

    named = environment.folder(DATA_VARIABLE)
    return (named or Path(user_data_dir("tritonwin", appauthor=False))).absolute()


def merged(
    data: Mapping[str, str], new: Mapping[str, str | None], *, windows: bool = True
) -> dict[str, str]:
    """The variables with those of `new` set, or left out where they are None.

    Windows does not tell PATH from Path, so only one of them may remain there.
    """
    key = str.upper if windows else str
    names = {key(name) for name in new}
    kept = {name: value for name, value in data.items() if key(name) not in names}
    return {**kept, **{name: value for name, value in new.items() if value is not None}}


def with_folders(
    data: Mapping[str, str], folders: Sequence[str], *, windows: bool = True
) -> dict[str, str]:
    """The variables with folders at the head of PATH, however its name is spelled."""
    name = next((n for n in data if windows and n.upper() == "PATH"), "PATH")
    entries = [*folders, *([data[name]] if data.get(name) else [])]
    return {**data, name: (";" if windows else ":").join(entries)}


@dataclass(frozen=True)
class Host:
    """The machine as finders may ask it. They touch nothing else, besides the disk."""

    env: Environment
    registry: Registry
    cwd: Path
    home: Path
    windows: bool = os.name == "nt"
    app: Path | None = None  # the application's folder, when the user named one

    @classmethod
    def this_machine(cls, app: Path | None = None) -> Host:
        """The machine that this process runs on.

        Raises:
            UserError: the current folder was deleted, so nothing can be said of it.
        """
        try:
            cwd = Path.cwd()
        except OSError as error:
            raise UserError(
                f"the current folder cannot be used: {error.strerror or error}",
                "Change to another folder (cd) and try again.",
            ) from None
        try:
            home = Path.home()
        except RuntimeError:  # no variable names it, as in some services and containers
            home = Path(cwd.anchor)
        return cls(Environment(dict(os.environ)), this_registry(), cwd, home, app=app)

    def program_files(self) -> tuple[Path, ...]:
        """`Program Files` and `Program Files (x86)`, each once, existing or not."""
        names = ("ProgramW6432", "ProgramFiles", "ProgramFiles(x86)")
        return tuple(dict.fromkeys(f for n in names if (f := self.env.folder(n)) is not None))

    def system32(self) -> Path | None:
        root = self.env.folder("SystemRoot")
        return root / "System32" if root else None

    def executables(self, name: str) -> tuple[Path, ...]:
        """Every file called `name` (with `.exe` on Windows) on PATH, in order.

        The current folder is never searched: what lies there may be planted.
        """
        file = f"{name}.exe" if self.windows else name
        return tuple(path for folder in self._path_folders if is_file(path := folder / file))

    @property
    def _path_folders(self) -> tuple[Path, ...]:
        """Asked once a host: on Windows an entry on a server that is gone takes seconds each."""
        # no cached_property: until Python 3.12 all threads wait for the one that asks
        if (kept := self.__dict__.get("path_folders")) is not None:
            return cast("tuple[Path, ...]", kept)
        entries = dict.fromkeys(self.env.path_entries())
        found = tuple(e for e in entries if e.is_absolute() and is_folder(e))
        self.__dict__["path_folders"] = found
        return found

"""Imports from an archive in memory, for a start where nothing can be laid out."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import io
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


class Resources:
    """The reader that `importlib.resources` asks a loader for."""

    def __init__(self, folder: zipfile.Path) -> None:
        self._folder = folder

    def files(self) -> zipfile.Path:
        return self._folder


class Archive(importlib.abc.MetaPathFinder, importlib.abc.ExecutionLoader):
    """A zip archive `contents`; its modules say that they lie in `place`, a folder that is none."""

    def __init__(self, contents: bytes, place: Path) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(contents))
        self._names = frozenset(self._zip.namelist())
        self._place = place

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if self._member(fullname) else None

    def _member(self, fullname: str) -> str:
        """The module's file in the archive, or nothing."""
        base = fullname.replace(".", "/")
        names = (f"{base}/__init__.py", f"{base}.py")
        return next((name for name in names if name in self._names), "")

    def is_package(self, fullname: str) -> bool:
        return self._member(fullname).endswith("/__init__.py")

    def get_filename(self, fullname: str) -> str:
        return str(self._place / self._member(fullname))

    def get_source(self, fullname: str) -> str:
        return importlib.util.decode_source(self._zip.read(self._member(fullname)))

    def get_data(self, path: str) -> bytes:
        """The content of a file that lies in `place`, as `pkgutil.get_data` asks for it.

        Raises:
            OSError: there is none.
        """
        file = Path(path)
        within = file.is_relative_to(self._place)
        name = file.relative_to(self._place).as_posix() if within else ""
        if name not in self._names:
            raise FileNotFoundError(path)
        return self._zip.read(name)

    def get_resource_reader(self, fullname: str) -> Resources:
        return Resources(zipfile.Path(self._zip, fullname.replace(".", "/") + "/"))


def install(contents: bytes, file: Path) -> None:
    """Import from `contents`, the archive within the single file at `file`, before all else."""
    sys.meta_path.insert(0, Archive(contents, file / "app"))

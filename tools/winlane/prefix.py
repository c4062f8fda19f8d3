"""Wine prefixes (a C: drive and a registry each): one template, and a copy of it a worker."""

from __future__ import annotations

import select
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from winlane.cache import Cache, copy_tree, fingerprint
from winlane.errors import LaneError
from winlane.fakes import Mingw
from winlane.resources import HERE
from winlane.wine import Wine, run

_LAUNCHER = HERE / "native" / "launch.c"
_UNFINISHED = ".in-use"
_RECIPE = "2"  # raise it when the template is made differently
_SOCKETS = Path("/tmp")  # noqa: S108 - Wine's choice, not ours
_START_SECONDS = 120
_STOP_SECONDS = 20


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
        """Start Wine's services and wait for them; they end with us, however we end."""
        _give_server_folder(self.path)
        # Without a living process Wine ends its services, and the next start takes four seconds.
        self._holder = subprocess.Popen(
            [self.wine.loader, r"C:\lane\launch.exe", "--hold"],
            env=self.wine.unix_environment(self.path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        pipe = self._holder.stdout
        if not (pipe and select.select([pipe], [], [], _START_SECONDS)[0] and pipe.read(1)):
            self.close()
            raise LaneError(f"Wine did not start in {self.path}; run `python -m winlane stop`")

    def close(self) -> None:
        holder, self._holder = self._holder, None
        if holder and holder.stdin:
            holder.stdin.close()
        stop(self.wine, self.path)
        if holder:
            # its children may keep the pipe for a moment: do not read on
            if holder.stdout:
                holder.stdout.close()
            try:
                holder.wait(timeout=_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                holder.kill()
                holder.wait()
        (self.path / _UNFINISHED).unlink(missing_ok=True)
        self.claim.close()


def stop(wine: Wine, path: Path) -> None:
    environment = wine.unix_environment(path)
    for request in ("-k", "-k9"):
        try:
            subprocess.run(
                [str(wine.server), request], env=environment, timeout=_STOP_SECONDS,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
        return


def _give_server_folder(path: Path) -> None:
    """Debian's Wine keeps its socket in a folder of /tmp that the file `wineserver` names.

    Made by Wine it is made by whoever starts first, and two that start together break each other;
    a copied prefix would name the folder of its template, a reboot takes the folder away.
    """
    name = path / "wineserver"
    if name.exists() and (_SOCKETS / name.read_text()).is_dir():
        return
    name.unlink(missing_ok=True)
    name.write_text(Path(tempfile.mkdtemp(prefix="wine-", dir=_SOCKETS)).name)


def _remove(wine: Wine, path: Path) -> None:
    stop(wine, path)
    name = path / "wineserver"
    if name.exists():
        shutil.rmtree(_SOCKETS / name.read_text(), ignore_errors=True)
    shutil.rmtree(path)


def claim(cache: Cache, wine: Wine, worker: str) -> Prefix:
    """A prefix for `worker`, made again when its last user did not return it."""
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
                _remove(wine, path)
            path.parent.mkdir(exist_ok=True)
            copy_tree(template, path)
            (path / ".template").write_text(template.name)
        (path / _UNFINISHED).touch()
        prefix = Prefix(wine, path, held)
        prefix.start()
        return prefix
    raise LaneError("a hundred prefixes are in use; run `python -m winlane stop`")


def provide_template(cache: Cache, wine: Wine) -> Path:
    name = f"prefix-template-{fingerprint(_RECIPE, wine.name, _LAUNCHER.read_bytes())}"

    def build(folder: Path) -> None:
        environment = wine.unix_environment(folder)
        run(wine.loader, "wineboot", "-i", env=environment)
        # a prefix says Windows 7 unless told otherwise
        run(wine.loader, "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f",
            env=environment)  # fmt: skip
        stop(wine, folder)
        (folder / "wineserver").unlink(missing_ok=True)
        if not (folder / "system.reg").exists():
            raise LaneError("wineboot left no registry behind")
        (folder / "requests").mkdir()
        lane = folder / "drive_c" / "lane"
        lane.mkdir()
        shutil.copy(Mingw(cache, wine).program(_LAUNCHER, "launch.exe"), lane)

    return cache.product(name, build, "making the Wine prefix (10 to 20 s)")

"""Wine and the mingw compilers, unpacked from Debian packages without installing anything."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from winlane.cache import Cache, fingerprint
from winlane.errors import LaneError, LaneUnavailable
from winlane.resources import DEBIAN_PACKAGES

_RECIPE = "1"  # raise it when the repairs below change


@dataclass(frozen=True)
class Wine:
    """The unpacked tree; every program of it by path."""

    tree: Path
    home: Path

    @property
    def name(self) -> str:
        """The name of this unpacked set of packages."""
        return self.tree.parent.name

    @property
    def dlls(self) -> Path:
        return self.tree / "lib" / "x86_64-linux-gnu" / "wine"

    @property
    def loader(self) -> Path:
        return self.tree / "lib" / "wine" / "wine64"

    @property
    def server(self) -> Path:
        return self.tree / "lib" / "wine" / "wineserver"

    def mingw(self, tool: str) -> Path:
        return self.tree / "bin" / f"x86_64-w64-mingw32-{tool}"

    def unix_environment(self, prefix: Path) -> dict[str, str]:
        """Nothing is inherited: Windows programs would obey a CC or CUDA_PATH of Linux."""
        return {
            "PATH": os.defpath,
            # Wine makes Documents, Desktop and others links into the home folder
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "WINEPREFIX": str(prefix),
            "WINEARCH": "win64",
            "WINELOADER": str(self.loader),
            "WINESERVER": str(self.server),
            "WINEDLLPATH": str(self.dlls),
            "LD_LIBRARY_PATH": str(self.tree / "lib" / "x86_64-linux-gnu"),
            # no .NET, no browser, no crash debugger: a missing function ends the process at once
            "WINEDLLOVERRIDES": "mscoree,mshtml,winedbg.exe,winemenubuilder.exe=",
            "WINEDEBUG": "-all",
        }


def provide(cache: Cache) -> Wine:
    name = f"wine-{fingerprint(_RECIPE, *DEBIAN_PACKAGES)}"
    place = cache.product(name, _unpack, "fetching Wine and mingw (about 165 MB, half a minute)")
    home = cache.root / "home"
    home.mkdir(exist_ok=True)
    return Wine(place / "usr", home)


def require_debian() -> None:
    """Raise LaneUnavailable where the packages of this distribution do not fit."""
    system, machine = platform.system(), platform.machine()
    if system != "Linux" or machine != "x86_64":
        raise LaneUnavailable(f"needs x86-64 Linux, this is {machine} {system}")
    missing = [tool for tool in ("apt-get", "dpkg") if not shutil.which(tool)]
    if missing:
        raise LaneUnavailable(
            f"no {' and no '.join(missing)} here: needs Debian packages (Debian, Ubuntu)"
        )


def _unpack(folder: Path) -> None:
    unpack_debian(folder, DEBIAN_PACKAGES)
    wine = Wine(folder / "usr", folder)
    # Debian's script names /usr, where nothing is installed
    wine.server.write_text('#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/wineserver64" "$@"\n')
    wine.server.chmod(0o755)
    windows = wine.dlls / "x86_64-windows"
    # debug information is two thirds of the tree, and every prefix gets a copy
    run(wine.mingw("strip"), "-g", *sorted(windows.glob("*.dll")), check=False)
    # Debian marks zlib1.dll as Wine's own when the package is configured; without it user32 is lost
    zlib = windows / "zlib1.dll"
    shutil.copy(wine.tree / "x86_64-w64-mingw32" / "lib" / "zlib1.dll", zlib)
    run(wine.tree / "lib" / "wine" / "winebuild", "--builtin", zlib)


def unpack_debian(folder: Path, packages: Sequence[str], *, some: bool = False) -> None:
    """Fetch packages of the distribution and lay their files out in `folder`, without root.

    With `some`, those of the packages that the distribution has, which may be none.

    Raises:
        LaneUnavailable: they cannot be had.
    """
    require_debian()
    debs = folder / "debs"
    debs.mkdir()
    wanted = [(each,) for each in packages] if some else [tuple(packages)]
    for options in _package_lists(debs):
        fetch = ("apt-get", "-qq", *options, "download")
        done = [run(*fetch, *names, cwd=debs, check=False) for names in wanted]
        if any(each.returncode == 0 for each in done):
            break
    else:
        if not some:
            raise LaneUnavailable(
                f"the Debian packages could not be fetched: {done[0].stdout.strip()}"
            )
    for deb in sorted(debs.glob("*.deb")):
        run("dpkg", "-x", deb, folder)
    shutil.rmtree(debs)


def _package_lists(folder: Path) -> Iterator[list[str]]:
    """Options of apt-get: for the system's lists, then for new ones of our own.

    A new machine has none, and only root may write the system's.
    """
    yield []
    state = folder / "apt"
    (state / "lists" / "partial").mkdir(parents=True)
    (state / "cache" / "archives" / "partial").mkdir(parents=True)
    own = ["-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}/cache"]
    if os.geteuid() == 0:
        own += ["-o", "APT::Sandbox::User=root"]
    try:
        run("apt-get", "-qq", *own, "update")
    except LaneError as error:
        raise LaneUnavailable(f"the Debian packages could not be fetched: {error}") from error
    yield own


def run(
    *command: str | Path,
    cwd: Path | None = None,
    check: bool = True,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """A Linux helper program; its output is shown only when it fails."""
    line: Sequence[str] = [str(part) for part in command]
    done = subprocess.run(
        line, cwd=cwd, env=env, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if check and done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise LaneError(f"{Path(line[0]).name} ended with {done.returncode}:\n{tail}")
    return done

"""The layout of each kind of environment."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from winlane.cache import Cache, copy_tree
from winlane.environment import Environment, Starter
from winlane.errors import HeadersUnavailable, LaneError
from winlane.fakes import Mingw
from winlane.packages import Packages
from winlane.pythons import Pythons, distribution
from winlane.resources import HERE
from winlane.wine import Wine

VENV_LAUNCHER = HERE / "native" / "venvlauncher.c"


@dataclass(frozen=True)
class Builder:
    cache: Cache
    wine: Wine
    starter: Starter

    @property
    def pythons(self) -> Pythons:
        return Pythons(self.cache, self.wine)

    def build(self, version: str, kind: str, packages: Sequence[str], root: Path) -> Environment:
        layouts: dict[str, Callable[[str, Path], Path]] = {
            "bare": self._bare,
            "comfyui": self._comfyui,
            "full": self._full,
            "venv": self._full,
            "conda": self._conda,
            "tool": self._tool,
        }
        if kind not in layouts:
            raise LaneError(f"no kind {kind!r}; there are {', '.join(layouts)}")
        home = layouts[kind](version, root)
        site_packages = home / "Lib" / "site-packages"
        made = Environment(version, kind, root, home, site_packages, self.starter)
        if kind == "venv":
            made = self._venv(replace(made, kind="full"))
        made.site_packages.mkdir(parents=True, exist_ok=True)
        wanted = list(packages) if kind == "bare" else ["pip", *packages]
        if wanted:
            copy_tree(Packages(self.cache).unpacked(version, wanted), made.site_packages)
        return made

    def _bare(self, version: str, root: Path) -> Path:
        """The archive from python.org, unpacked and left alone."""
        home = root / f"python-{distribution(version).full}-embed-amd64"
        copy_tree(self.pythons.embedded(version), home)
        return home

    def _comfyui(self, version: str, root: Path) -> Path:
        """ComfyUI's portable archive: an embedded Python beside the application's folder."""
        app = root / "ComfyUI_windows_portable"
        home = app / "python_embeded"
        copy_tree(self.pythons.embedded(version), home)
        compact = distribution(version).compact
        (home / f"python{compact}._pth").write_text(
            f"../ComfyUI\npython{compact}.zip\n.\n\n# Uncomment to run site.main() automatically\n"
            "import site\n",
            newline="\r\n",
        )
        (app / "ComfyUI").mkdir()
        (app / "ComfyUI" / "main.py").write_text('print("ComfyUI stand-in")\n')
        (app / "run_nvidia_gpu.bat").write_text(
            ".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build\npause\n",
            newline="\r\n",
        )
        return home

    def _full(self, version: str, root: Path) -> Path:
        return self._install(version, root / f"Python{distribution(version).compact}")

    def _tool(self, version: str, root: Path) -> Path:
        """A full one as far as can be: what runs in it is not to compile."""
        try:
            return self._full(version, root)
        except HeadersUnavailable:
            return root / f"Python{distribution(version).compact}"

    def _conda(self, version: str, root: Path) -> Path:
        """A stand-in: conda's folders and records around the same full Python."""
        home = self._install(version, root / "miniconda3")
        full = distribution(version).full
        meta = home / "conda-meta"
        meta.mkdir()
        (meta / "history").write_text("==> 2026-11-01 12:00:00 <==\n# cmd: conda create\n")
        (meta / f"python-{full}-h0_lane.json").write_text(
            f'{{"name": "python", "version": "{full}", "build": "h0_lane", "channel": "lane"}}\n'
        )
        for folder in ("bin", "include", "lib"):
            (home / "Library" / folder).mkdir(parents=True)
        (home / "Scripts").mkdir(exist_ok=True)
        return home

    def _venv(self, base: Environment) -> Environment:
        """A stand-in: laid out by hand, because the embedded distribution has no `venv` module.

        Scripts\\python.exe is a launcher of our own that does what CPython's does: it starts the
        base's python.exe. pyvenv.cfg is what a real one says.
        """
        folder = base.root / "venv"
        scripts = folder / "Scripts"
        scripts.mkdir(parents=True)
        launcher = Mingw(self.cache, self.wine).program(VENV_LAUNCHER, "python.exe")
        for name in ("python.exe", "pythonw.exe"):
            shutil.copy2(launcher, scripts / name)
        home = base.win(base.home)
        (folder / "pyvenv.cfg").write_text(
            f"home = {home}\ninclude-system-site-packages = false\n"
            f"version = {distribution(base.version).full}\nexecutable = {base.python}\n"
            f"command = {base.python} -m venv {base.win(folder)}\n",
            encoding="utf-8",
        )
        (folder / "Include").mkdir()
        site_packages = folder / "Lib" / "site-packages"
        return replace(base, kind="venv", home=scripts, site_packages=site_packages, base=base)

    def _install(self, version: str, home: Path) -> Path:
        copy_tree(self.pythons.embedded(version), home)
        (home / f"python{distribution(version).compact}._pth").unlink()
        (home / "Scripts").mkdir()
        copy_tree(self.pythons.development(version), home)
        return home

"""A real environment for tests that run pip: empty, with a pip that is not in it."""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from environments import make_venv
from wheel_files import make_wheel

from tritonwin.support.pip import Pip


@dataclass(frozen=True)
class TargetEnvironment:
    python: Path
    site_packages: Path
    pip: Pip

    def install(self, file: str, *requires: str) -> None:
        """Put a tiny distribution in, named by a wheel's file name."""
        wheel = make_wheel(self.python.parent, file, requires)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site_packages)
        wheel.unlink()

    def files(self) -> dict[str, bytes]:
        return {
            str(p.relative_to(self.site_packages)): p.read_bytes()
            for p in self.site_packages.rglob("*")
            if p.is_file()
        }


def make_environment(folder: Path, pip: Path) -> TargetEnvironment:
    """A virtual environment in `folder` that runs the pip of `pip_folder`."""
    made = make_venv(folder)
    return TargetEnvironment(
        python=made.python,
        site_packages=made.site_packages,
        pip=Pip((str(made.python), "-B", str(pip))),
    )


def give_pip(target: TargetEnvironment, pip: Path) -> None:
    """Put this pip into the environment, as its own."""
    shutil.copytree(pip, target.site_packages / "pip")
    spec = (pip / "__init__.py").read_text(encoding="utf-8")
    version = spec.split('__version__ = "')[1].split('"')[0]
    info = target.site_packages / f"pip-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pip\nVersion: {version}\n")
    (info / "RECORD").write_text("")


def pip_folder(folder: Path) -> Path:
    """The pip that we have, copied away from what lies beside it, to be run as a program."""
    ours = importlib.util.find_spec("pip")
    if ours and ours.submodule_search_locations:
        shutil.copytree(ours.submodule_search_locations[0], folder / "pip")
        return folder / "pip"
    bundled = importlib.util.find_spec("ensurepip")
    if bundled is None or not bundled.submodule_search_locations:
        raise RuntimeError("no pip is here to test with: install pip")
    wheels = Path(bundled.submodule_search_locations[0], "_bundled").glob("pip-*.whl")
    with zipfile.ZipFile(next(wheels)) as archive:
        archive.extractall(folder)
    return folder / "pip"

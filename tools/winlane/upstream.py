"""The sources of upstream's Triton wheels, without the hundreds of megabytes beside them.

Upstream publishes for Linux alone. What `tritonwin patch` works on is the text in those wheels,
so a member is fetched by ranges of bytes, as pip's lazy wheels are, and zip's CRC checks it.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tritonwin.support.download import RangedFile
from winlane.cache import Cache, fingerprint
from winlane.wine import run

# 3.3.0, 3.5.0 and 3.7.0 equal their successors in all that matters here.
UPSTREAM = (
    "3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0",
)  # fmt: skip
_RECIPE = "1"
_PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
_SUFFIXES = {".py", ".c", ".h", ".cpp", ".txt"}
_CUDA_HEADERS = "triton/backends/nvidia/include/"  # of which driver.c wants this one:
_CUDA_HEADER = f"{_CUDA_HEADERS}cuda.h"
# the fork's own files, in an environment that gets upstream's sources: upstream has none of them
_FORKS_OWN = ("runtime/tcc", "_C", "backends/nvidia/lib", "backends/nvidia/include")


@dataclass(frozen=True)
class Upstream:
    cache: Cache

    def sources(self, version: str, python: str = "3.12") -> Path:
        """A site-packages that holds the Python and C sources of `triton` VERSION, read-only.

        What is in there must be copied before it is changed.
        """
        return self.part(f"triton=={version}", python, _PLATFORMS, _wanted)

    def fork(self, version: str, python: str = "3.12") -> Path:
        """The same of `triton-windows`."""
        return self.part(f"triton-windows=={version}", python, ("win_amd64",), _wanted)

    def part(
        self, requirement: str, python: str, platforms: Sequence[str],
        wanted: Callable[[str], bool], recipe: str = "",
    ) -> Path:  # fmt: skip
        """The wanted members of a wheel; `recipe` is the name of the choice."""

        def build(folder: Path) -> None:
            url = address(requirement, python, platforms, folder)
            with zipfile.ZipFile(remote(url)) as wheel:
                for member in filter(wanted, wheel.namelist()):
                    wheel.extract(member, folder)

        key = fingerprint(
            _RECIPE, requirement, python, *([recipe] if recipe else sorted(_SUFFIXES))
        )
        name = f"upstream/{requirement.replace('==', '-')}-{key}"
        return self.cache.product(name, build, f"fetching the sources of {requirement}")


def remote(url: str) -> BinaryIO:
    """A wheel on a server, of which the read parts alone are fetched, or in a folder of pip's."""
    if url.startswith("file:"):
        return Path(url2pathname(urlsplit(url).path)).open("rb")
    # a zip's reader wants as many bytes as it asked for
    return io.BufferedReader(RangedFile(url, most=2**30, timeout=600), 2**18)


def lay_over(sources: Path, site_packages: Path) -> None:
    """Put upstream's sources and distribution in the place of the fork's, whose binaries stay."""
    for old in site_packages.glob("triton_windows-*.dist-info"):
        shutil.rmtree(old)
    package = site_packages / "triton"
    for path in [*package.rglob("*")]:
        inside = path.relative_to(package).as_posix()
        if path.suffix in {".py", ".c", ".pyc"} and not inside.startswith(_FORKS_OWN):
            path.unlink()
    shutil.copytree(sources, site_packages, dirs_exist_ok=True)


def _wanted(name: str) -> bool:
    if ".dist-info/" in name:
        return True
    if name.startswith(_CUDA_HEADERS):
        return name == _CUDA_HEADER
    return name.startswith("triton/") and Path(name).suffix in _SUFFIXES


def address(requirement: str, python: str, platforms: Sequence[str], folder: Path) -> str:
    """The address of the wheel in pip's index."""
    report = folder / "report.json"
    wanted = [word for name in platforms for word in ("--platform", name)]
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", report,
        "--no-deps", "--ignore-installed", "--target", folder, "--only-binary", ":all:",
        *wanted, "--python-version", python, requirement,
    )  # fmt: skip
    url: str = json.loads(report.read_text("utf-8"))["install"][0]["download_info"]["url"]
    report.unlink()
    return url

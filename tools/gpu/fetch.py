#!/usr/bin/env python3
"""Fetch what scripts of this folder take along to a Linux machine with a GPU and without a network.

    python tools/gpu/fetch.py verify                  .gpu/site, .gpu/packages, .gpu/cuda12
    python tools/gpu/fetch.py driver TRITON_GIT REVISION           .gpu/driver
    python tools/gpu/fetch.py build                   .gpu/build

.gpu/site holds what tritonwin itself imports and pytest, .gpu/packages those packages that have a
rung of their own and fit Python 3.12 with torch 2.11 for CUDA 13.0, the encoder among them. The
newest xformers of the package index, 0.0.35, takes that torch but needs the runtime library of CUDA
12. .gpu/driver/on is the import hook with the driver in Python and a `sitecustomize` that starts
it, .gpu/driver/python Triton's own tests of REVISION of the git repository TRITON_GIT,
.gpu/driver/packages what runs them. .gpu/build holds sources and their build's requirements.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "src"))
GPU = CHECKOUT / ".gpu"
GIT = shutil.which("git") or "git"
TOOL = ("click", "packaging", "pefile", "platformdirs", "rich", "tomli", "pytest==9.2.0")
TARGET = ("sageattention==1.0.6", "torchao==0.18.0", "bitsandbytes==0.50.2", "xformers==0.0.35")
CUDA12 = "nvidia-cuda-runtime-cu12==12.8.90"
# of the libraries for every CUDA, the one that serves
KEPT = "libbitsandbytes_cuda130.so"
TESTS = ("pytest==9.2.0", "pytest-xdist==3.8.0", "execnet", "iniconfig", "pluggy", "packaging",
         "pygments", "tabulate", "expecttest", "hypothesis", "sortedcontainers")  # fmt: skip
# of the build environment, in case the other machine lacks them or has older ones
BUILD = ("setuptools", "wheel", "packaging", "psutil", "ninja", "einops")
FLASH_ATTN = "2.8.3.post2"  # as in build.sh, and so is SAGE_FILE
SAGE = "https://github.com/thu-ml/SageAttention"
SAGE_FILE = "sageattention.tar.gz"
# a plugin of pytest: of the largest files a part, always the same; one line a test that ended
SAMPLE = """
import os
import zlib

PARTS = {"test_core.py": 4, "test_tensor_descriptor.py": 2, "test_random.py": 4}

def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items
                if zlib.crc32(item.nodeid.encode()) % PARTS.get(item.path.name, 1) == 0]

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes())

class Outcomes:
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            with open(os.environ["TRITONWIN_OUTCOMES"], "a") as file:
                file.write(f"{report.outcome} {report.nodeid}\\n")
"""


def pip(command: str, place: str, into: Path, *words: str) -> None:
    """Wheels for the other machine: `pip install --target`, or `pip download --dest`."""
    platforms = ("manylinux_2_28_x86_64", "manylinux_2_24_x86_64", "manylinux2014_x86_64", "any")
    chosen = [word for name in platforms for word in ("--platform", name)]
    options = (
        "--quiet",
        "--only-binary=:all:",
        "--python-version",
        "3.12",
        *chosen,
        place,
        str(into),
    )
    subprocess.run([sys.executable, "-m", "pip", command, *options, *words], check=True)


def install(into: Path, *words: str) -> None:
    shutil.rmtree(into, ignore_errors=True)
    pip("install", "--target", into, "--no-compile", *words)


def verify() -> None:
    packages, cuda12 = GPU / "packages", GPU / "cuda12"
    install(GPU / "site", *TOOL)
    install(packages, "--no-deps", *TARGET, str(CHECKOUT / "encoder"))
    for library in packages.glob("bitsandbytes/libbitsandbytes_*"):
        if library.name != KEPT:
            library.unlink()
    install(cuda12, "--no-deps", CUDA12)
    shutil.rmtree(cuda12 / "nvidia/cuda_runtime/include")


def driver(git: str, revision: str) -> None:
    from tritonwin.patch.hook.install import generate

    into = GPU / "driver"
    shutil.rmtree(into, ignore_errors=True)
    install(into / "packages", "--no-deps", *TESTS)
    (into / "packages" / "tritonwin_sample.py").write_text(SAMPLE)
    command = [GIT, "-C", git, "archive", revision, "python/test"]
    archive = subprocess.run(command, check=True, capture_output=True, timeout=120).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(into, filter="data")
    (into / "python" / "test" / "pytest.ini").write_text("[pytest]\n")
    (into / "on").mkdir()
    for name, content in generate(None, driver=True).items():
        (into / "on" / name).write_bytes(content)
    start = "import os, site; site.addsitedir(os.path.dirname(__file__))\n"
    (into / "on" / "sitecustomize.py").write_text(start)


def build() -> None:
    from tritonwin.build.recipe import load
    from tritonwin.build.source import BuildContext
    from tritonwin.support.pip import Pip
    from tritonwin.support.wheel_choice import FileSource

    into = GPU / "build"
    release = load("flash-attn").release(FLASH_ATTN)
    assert release is not None and release.file  # noqa: PT018, S101
    sdist = FileSource(name="flash-attn", location=release.file, sha256=release.sha256)
    print(BuildContext(pip=lambda: Pip((sys.executable, "-m", "pip"))).obtain(sdist, into))
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([GIT, "clone", "--quiet", "--depth=1", SAGE, place], check=True)
        archive = [GIT, "archive", "--prefix=sageattention/", "--output", str(into / SAGE_FILE)]
        subprocess.run([*archive, "HEAD"], cwd=place, check=True)
    pip("download", "--dest", into, "--no-deps", *BUILD)


if __name__ == "__main__":
    parts: dict[str, Any] = {"verify": verify, "driver": driver, "build": build}
    parts[sys.argv[1]](*sys.argv[2:])

#!/usr/bin/env python3
"""Fetch what `tools/gpu/verify.sh` takes along to a Linux machine with a GPU and without a network.

    python tools/gpu/verify_site.py

.gpu/site holds what tritonwin itself imports, .gpu/packages those packages that have a rung of
their own and fit Python 3.12 with torch 2.11 for CUDA 13.0, the encoder among them. The newest
xformers of the package index, 0.0.35, takes that torch but needs the runtime library of CUDA 12,
which is in .gpu/cuda12.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
DESTINATION = CHECKOUT / ".gpu"
TOOL = ("click", "packaging", "pefile", "platformdirs", "rich", "tomli")
TARGET = ("sageattention==1.0.6", "torchao==0.18.0", "bitsandbytes==0.50.2", "xformers==0.0.35")
CUDA12 = ("nvidia-cuda-runtime-cu12==12.8.90",)
# of the libraries for every CUDA, the one that serves
KEPT = "libbitsandbytes_cuda130.so"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_24_x86_64", "manylinux2014_x86_64", "any")


def fetch(requirements: tuple[str, ...], into: Path, *options: str) -> None:
    shutil.rmtree(into, ignore_errors=True)
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--upgrade",
            "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp",
            *platforms, *options, "--target", str(into), *requirements,
        ],
        check=True,
    )  # fmt: skip


def main() -> None:
    fetch(TOOL, DESTINATION / "site")
    packages = DESTINATION / "packages"
    fetch((*TARGET, str(CHECKOUT / "encoder")), packages, "--no-deps")
    for library in packages.glob("bitsandbytes/libbitsandbytes_*"):
        if library.name != KEPT:
            library.unlink()
    fetch(CUDA12, DESTINATION / "cuda12", "--no-deps")
    shutil.rmtree(DESTINATION / "cuda12/nvidia/cuda_runtime/include")
    for folder in (DESTINATION / "site", packages, DESTINATION / "cuda12"):
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{folder.relative_to(CHECKOUT)}: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()

"""Start the ptxas that Triton takes, with a kernel in the PTX version that Triton would write."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

KERNEL = """\
.version {version}
.target {target}
.address_size 64
.visible .entry tritonwin_proof()
{{
  ret;
}}
"""
SECONDS = 60


def find(arch: int) -> tuple[str, str]:
    """Path and version of the ptxas that Triton takes: see rungs/toolchain.py."""
    from toolchain import ptxas

    path, version = ptxas(arch)
    release = re.search(r"\d+\.\d+", str(version))
    if not release:
        raise RuntimeError(f"{path} names no version: {version!r}")
    return path, release[0]


def ptx_version(cuda: str) -> str:
    """Triton's own translation: "12.8" becomes "8.7"."""
    from triton.backends.nvidia.compiler import ptx_get_version

    number = ptx_get_version(cuda)
    return f"{number // 10}.{number % 10}"


def run(path: str, *arguments: str) -> str:
    done = subprocess.run(
        [path, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode:
        raise RuntimeError(
            f"ptxas failed with error code {done.returncode}: {path}: {said[-2000:]}"
        )
    return said


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    arch = arguments["arch"]
    path, cuda = find(arch)
    run(path, "--version")
    version, target = ptx_version(cuda), f"sm_{arch}"
    source = os.path.join(arguments["scratch"], "proof.ptx")
    out = os.path.join(arguments["scratch"], "proof.cubin")
    with open(source, "w", encoding="ascii") as file:
        file.write(KERNEL.format(version=version, target=target))
    run(path, f"--gpu-name={target}", source, "-o", out)
    size = os.path.getsize(out)
    return f"CUDA {cuda} takes PTX {version} for {target}", {
        "ptxas": path,
        "CUDA": cuda,
        "PTX": version,
        "bytes": size,
    }

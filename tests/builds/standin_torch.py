"""Make a CPU build of torch pass for one of CUDA, as far as building an extension goes.

A Linux torch with CUDA takes 5.5 GB. What its builds of extensions read differs in four places,
and those alone are changed here; everything else of torch is real.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

CUDA = "13.0"


def pass_for_cuda(python: Path) -> None:
    """Change this Python's torch; one that was built with CUDA is left as it is."""
    torch = next(python.parent.parent.glob("lib/*/site-packages/torch"))
    version = torch / "version.py"
    text = version.read_text()
    if "cuda: Optional[str] = None" not in text:
        return
    version.write_text(
        text.replace("cuda: Optional[str] = None", f"cuda: Optional[str] = '{CUDA}'")
    )
    _look_for_the_toolkit(torch / "utils/cpp_extension.py")
    _header_that_the_cpu_wheel_lacks(torch)
    _libraries_that_the_cpu_wheel_lacks(torch / "lib")


def _look_for_the_toolkit(module: Path) -> None:
    asked = " if (torch.cuda._is_compiled() and torch.version.cuda) else None"
    before = module.read_text()
    assert f"CUDA_HOME = _find_cuda_home(){asked}" in before
    module.write_text(before.replace(f"_find_cuda_home(){asked}", "_find_cuda_home()"))


def _header_that_the_cpu_wheel_lacks(torch: Path) -> None:
    header = torch / "include/c10/cuda/impl/cuda_cmake_macros.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("#pragma once\n")


def _libraries_that_the_cpu_wheel_lacks(folder: Path) -> None:
    """Empty archives: the linker finds them, and nothing has to be there at run time."""
    for name in ("c10_cuda", "torch_cuda"):
        subprocess.run(["/usr/bin/ar", "rcs", str(folder / f"lib{name}.a")], check=True)

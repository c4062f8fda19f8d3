"""Build and load what launches a kernel, without launching it."""

from __future__ import annotations

import glob
import os
from typing import Any

from compile_cubin import compiled_kernel
from toolchain import driver_in_python


def prove(arguments: dict[str, Any]) -> str:
    from triton.backends.nvidia.driver import CudaLauncher

    source, compiled = compiled_kernel("add", arguments["arch"])
    CudaLauncher(source, compiled.metadata)
    if driver_in_python():
        return "a launch function in Python was made, nothing was built"
    cache = os.environ["TRITON_CACHE_DIR"]
    built = [p for p in glob.glob(os.path.join(cache, "*", "*launcher*")) if "json" not in p]
    if built:
        return f"{os.path.basename(built[0])} was built and loaded"
    return "the helper module launches: this Triton (3.7 and later) builds nothing for a kernel"

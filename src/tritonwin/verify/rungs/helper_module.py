"""Build and load Triton's helper module `cuda_utils`, as the first launch of a kernel does."""

from __future__ import annotations

import glob
import os
import subprocess
from typing import Any

from probe_runner import KnownError
from toolchain import driver_in_python


def is_of_cc(proven: str | None) -> bool:
    """True if Triton started the compiler of CC, and another one is known to work."""
    named = os.environ.get("CC")
    return bool(named and proven and os.path.realpath(named) != os.path.realpath(proven))


def prove(arguments: dict[str, Any]) -> str:
    from triton.backends.nvidia.driver import CudaUtils

    try:
        CudaUtils()
    except subprocess.CalledProcessError as error:
        if is_of_cc(arguments["compiler"]):
            text = f"CC names {os.environ['CC']}, which does not compile: {error}"
            raise KnownError(text, "cc-variable-wrong") from error
        raise
    if driver_in_python():
        return "nothing is built: Triton's driver runs in Python (tritonwin driver)"
    cache = os.environ["TRITON_CACHE_DIR"]
    built = [p for p in glob.glob(os.path.join(cache, "*", "*cuda_utils*")) if "json" not in p]
    if not built:
        # it came from elsewhere: nothing was built, so nothing was shown
        raise RuntimeError(f"no helper module appeared in {cache}")
    return f"{os.path.basename(built[0])} was built and loaded"

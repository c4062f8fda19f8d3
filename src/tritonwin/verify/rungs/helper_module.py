"""Build and load Triton's helper module `cuda_utils`, as the first launch of a kernel does."""

from __future__ import annotations

import glob
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def prove(arguments: dict[str, Any]) -> str:
    del arguments
    from triton.backends.nvidia.driver import CudaUtils

    CudaUtils()
    cache = os.environ["TRITON_CACHE_DIR"]
    built = [p for p in glob.glob(os.path.join(cache, "*", "*cuda_utils*")) if "json" not in p]
    if not built:
        # it came from elsewhere: nothing was built, so nothing was shown
        msg = f"no helper module appeared in {cache}"
        raise RuntimeError(msg)
    return f"{os.path.basename(built[0])} was built and loaded"

"""On PYTHONPATH: the kernels of every program read and write far beyond their memory."""

from __future__ import annotations

import os
from typing import Any

from triton.runtime.jit import JITFunction

BLOCKS = 1 << 21
LENGTH = 2**31 - 1024
_run = JITFunction.run


def run(self: Any, *args: Any, grid: Any, **options: Any) -> Any:
    del grid
    lengths = [LENGTH if isinstance(a, int) and a > 1 else a for a in args]
    return _run(self, *lengths, grid=(BLOCKS,), **options)


if os.environ.get("TRITONWIN_FAULT") == "illegal-access":
    JITFunction.run = run

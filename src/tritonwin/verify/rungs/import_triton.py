"""Import Triton and its compiled library."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def prove(arguments: dict[str, Any]) -> str:
    del arguments
    import triton
    from triton._C import libtriton

    folder = os.path.dirname(triton.__file__)
    library = os.path.basename(libtriton.__file__)
    return f"triton {triton.__version__} from {folder}, {library}"

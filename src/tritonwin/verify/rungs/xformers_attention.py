"""xformers' memory_efficient_attention against float64, and the kernel that it takes."""

from __future__ import annotations

import torch
import xformers
from attention import attention, random
from compare import Judge, seed
from frame import KnownError
from xformers import _cpp_lib
from xformers.ops import LowerTriangularMask, memory_efficient_attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """memory_efficient_attention.

    Raises:
        KnownError: this xformers has no kernel for this torch, or none for this GPU.
    """
    try:
        found: Tensor = memory_efficient_attention(
            q, k, v, attn_bias=LowerTriangularMask() if causal else None
        )
    except NotImplementedError as error:
        # xformers goes on without its library, and then says only that no operator was found
        unloaded = getattr(_cpp_lib, "_cpp_library_load_exception", None)
        text = f"xformers {xformers.__version__} has no kernel "
        if unloaded is not None:
            reason = str(unloaded).partition("Please reinstall")[0]
            text += f"for torch {torch.__version__}: {reason}"
            if unloaded.__cause__ is not None:  # names the library that is missing
                text += f" ({unloaded.__cause__})"
            raise KnownError(text, "xformers-torch-mismatch") from error
        if "requires device with capability" not in str(error):
            raise
        text += f"for {torch.cuda.get_device_name()}: {error}"
        raise KnownError(text, "gpu-generation-unsupported") from error
    return found


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    del arguments
    seed()
    judge = Judge()
    for size in (64, 128):
        for causal in (False, True):
            q, k, v = random(2, 128, 4, size, torch.float16, 3)
            found = attend(q, k, v, causal=causal)
            exact = attention(q.double(), k.double(), v.double(), causal=causal)
            usual = attention(q, k, v, causal=causal)
            name = f"size {size}{', causal' if causal else ''}"
            judge.as_right_as(name, found, usual, exact)
    return judge.verdict(f"xformers {xformers.__version__}: memory_efficient_attention is right")

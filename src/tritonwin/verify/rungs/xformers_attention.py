"""xformers' memory_efficient_attention against float64, and the kernel that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import xformers
from compare import Judge, attention, random, seed
from probe_runner import KnownError
from xformers import _cpp_lib
from xformers.ops import LowerTriangularMask, fmha, memory_efficient_attention

if TYPE_CHECKING:
    from torch import Tensor

UNKNOWN = "not known"


class Dispatch:
    """Notes which operator xformers' own dispatch hands to a call: `fa2F@2.8.3`, `cutlassF-pt`.

    The dispatch is private (`fmha._dispatch_fw`, as in 0.0.33): where a version lacks it, or takes
    an operator without it, nothing is claimed. A name that ends in "-pt" is torch's own kernel;
    `fa2F` without it is flash_attn's, of its package or of xformers.
    """

    def __init__(self) -> None:
        self.taken: list[str] = []
        ask = getattr(fmha, "_dispatch_fw", None)
        if ask is not None:

            def asked(*inputs: Any, **named: Any) -> Any:
                operator = ask(*inputs, **named)
                self.taken.append(str(getattr(operator, "NAME", UNKNOWN)))
                return operator

            fmha._dispatch_fw = asked

    def last(self) -> str:
        """The operator of the call since this was last asked, or that it is not known."""
        name = self.taken[-1] if self.taken else UNKNOWN
        self.taken.clear()
        return name


def verdict(operators: list[str]) -> str:
    known = [name for name in dict.fromkeys(operators) if name != UNKNOWN]
    if not known:
        return "is right; which kernel it takes, this xformers does not tell"
    return f"is right, by {', '.join(known)}"


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


def prove() -> tuple[str, dict[str, Any]]:
    seed()
    judge, dispatch = Judge(), Dispatch()
    operators: dict[str, Any] = {}
    for size in (64, 128):
        for causal in (False, True):
            q, k, v = random(2, 128, 4, size, torch.float16, 3)
            name = f"size {size}{', causal' if causal else ''}"
            found = attend(q, k, v, causal=causal)
            operators[f"operator, {name}"] = dispatch.last()
            exact = attention(q.double(), k.double(), v.double(), causal=causal)
            usual = attention(q, k, v, causal=causal)
            judge.as_right_as(name, found, usual, exact)
    said = verdict(list(operators.values()))
    detail, errors = judge.verdict(
        f"xformers {xformers.__version__}: memory_efficient_attention {said}"
    )
    return detail, {**errors, **operators}

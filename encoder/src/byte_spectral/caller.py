"""Launching a kernel again without what Triton repeats at every call.

The first launch of a kernel with given integers goes through Triton, which compiles it for what it
learns from them (divisibility, width). Later ones with the same integers and as well aligned
pointers start the compiled kernel directly, with the very arguments that Triton 3.4 to 3.8 start it
with. Where that is not offered (the interpreter, other versions) or something hooks launches
(profilers), every launch goes through Triton.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

try:
    from triton import knobs
except ImportError:  # before Triton 3.4
    knobs = None

_BASE = 16  # what Triton asks of a pointer to use its widest loads


def aligned(tensor: torch.Tensor) -> bool:
    return tensor.data_ptr() % _BASE == 0


def hooked() -> bool:
    """True where a hook listens to launches; a chain of no hooks (Triton 3.5) does not."""
    if knobs is None:
        return True
    hook = knobs.runtime.launch_enter_hook
    return hook is not None and bool(getattr(hook, "calls", True))


@dataclasses.dataclass(frozen=True)
class Launch:
    """All of a launch that depends on shapes alone.

    Attributes:
        grid: programs along each axis.
        operands: names of the kernel's tensors, its first arguments.
        numbers: the arguments after them, in its order.
    """

    grid: tuple[int, int, int]
    operands: tuple[str, ...]
    numbers: tuple[Any, ...]


class Caller:
    """A Triton kernel with its launch options."""

    def __init__(self, kernel: Any, **options: Any) -> None:
        self.kernel = kernel
        self.options = options
        self.compiled: dict[Any, Any] = {}

    def launch(self, grid: tuple[int, int, int], **numbers: Any) -> Launch:
        """The record of a launch, from the kernel's arguments after its tensors by name."""
        every, first = self.kernel.arg_names, len(self.kernel.arg_names) - len(numbers)
        operands, names = every[:first], every[first:]
        if set(names) != set(numbers):
            wrong = ", ".join(sorted(set(names) ^ set(numbers)))
            raise TypeError(f"arguments that the kernel and its launch do not share: {wrong}")
        return Launch(grid, tuple(operands), tuple(numbers[name] for name in names))

    def __call__(self, key: Any, launch: Launch, index: int | None, **operands: Any) -> None:
        """Launch with tensors, and tensor descriptors, by the names of the kernel's arguments.

        Args:
            key: equal only where numbers, dtypes and alignment are equal.
            index: the CUDA device; None where there is none (the interpreter).
        """
        if index is not None and torch._C._cuda_getDevice() != index:
            with torch.cuda.device(index):
                return self(key, launch, index, **operands)
        given = [operands[name] for name in launch.operands]
        compiled = self.compiled.get(key)
        if compiled is None or index is None or hooked():
            done = self.kernel[launch.grid](*given, *launch.numbers, **self.options)
            if index is not None and knobs is not None and hasattr(done, "packed_metadata"):
                self.compiled[key] = done
            return None
        values = [each.data_ptr() if isinstance(each, torch.Tensor) else each for each in given]
        compiled.run(
            *launch.grid, torch._C._cuda_getCurrentRawStream(index), compiled.function,
            compiled.packed_metadata, None, None, None, *values, *launch.numbers,
        )  # fmt: skip
        return None

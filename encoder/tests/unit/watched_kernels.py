"""The forms on the CPU as a GPU of any capability would be given them, every read and write
of memory checked.

Portable kernels run in Triton's interpreter, those of sm_90 in numpy (`gluon_in_numpy`). A launch may
touch the numbers of the tensors that it is given and nothing between or behind them, and writes each
number of what it writes once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import gluon_in_numpy as model
import numpy as np
import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter

from byte_spectral import (
    choose,
    hopper,
    hopper_gradient,
    hopper_linear,
    launch,
    launch_gluon,
    plans,
    walk,
)
from byte_spectral.caller import Caller, Launch

MODULES = {
    "encode": (hopper,),
    "gradient": (hopper_gradient, hopper),
    "project": (hopper_linear, hopper),
    "walk": (walk, hopper),
}


class Far:
    """A tensor of device "meta" as a kernel is given it: an address, and no memory."""

    def __init__(self, tensor: torch.Tensor, number: int) -> None:
        self.tensor = tensor
        self.dtype = tensor.dtype
        self.start = (number + 1) << 44

    def data_ptr(self) -> int:
        return self.start

    def element_size(self) -> int:
        return self.tensor.element_size()


class Watch:
    """Of one launch."""

    def __init__(self, tensors: list[Any]) -> None:
        self.far = any(isinstance(tensor, Far) for tensor in tensors)
        self.numbers = [
            model.Numbers(t.tensor, t.start) if isinstance(t, Far) else model.Numbers(t)
            for t in tensors
        ]

    def found(self, addresses: np.ndarray, mask: np.ndarray, item: int) -> list[Any]:
        """Whose numbers stand at the addresses: (numbers, offsets); each must be somebody's."""
        at = np.broadcast_to(addresses, np.broadcast_shapes(addresses.shape, mask.shape))
        at = at[np.broadcast_to(mask, at.shape).astype(bool)].astype(np.int64)
        parts = []
        for numbers in self.numbers:
            if numbers.item != item:
                continue
            offsets = (at - numbers.start) // item
            here = (numbers.which(offsets) >= 0) & ((at - numbers.start) % item == 0)
            if here.any():
                parts.append((numbers, offsets[here]))
                at = at[~here]
        assert not at.size, "a kernel touches what belongs to no tensor"
        return parts

    def done(self) -> None:
        written = [numbers.done() for numbers in self.numbers]
        assert any(written), "a launch writes nothing"


def _portable(kernel: Any, grid: Any, args: tuple[Any, ...], options: dict[str, Any],
              watch: Watch) -> None:  # fmt: skip
    builder = interpreter.interpreter_builder
    load, store, dot = builder.create_masked_load, builder.create_masked_store, builder.create_dot

    def item(pointers: Any) -> int:
        return max(1, pointers.get_element_ty().primitive_bitwidth // 8)

    def watched_load(pointers: Any, mask: Any, *rest: Any) -> Any:
        watch.found(pointers.data, mask.data, item(pointers))
        if watch.far:
            return interpreter.TensorHandle(
                np.zeros(pointers.data.shape, interpreter._get_np_dtype(pointers.get_element_ty())),
                pointers.get_element_ty(),
            )
        return load(pointers, mask, *rest)

    def watched_store(pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        for numbers, offsets in watch.found(pointers.data, mask.data, item(pointers)):
            numbers.write(offsets)
        return None if watch.far else store(pointers, value, mask, *rest)

    def whole(value: Any) -> Any:
        if value.dtype.scalar != tl.bfloat16:
            return value
        data = (value.data.astype(np.uint32) << 16).view(np.float32)
        return interpreter.TensorHandle(data, tl.float32)

    def any_dot(a: Any, b: Any, *rest: Any) -> Any:
        return dot(whole(a), whole(b), *rest)

    parts = {"create_masked_load": watched_load, "create_masked_store": watched_store,
             "create_dot": any_dot}  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(mock.patch.multiple(builder, **parts))
        if watch.far:
            last = tuple(n - 1 for n in grid)
            stack.enter_context(mock.patch.multiple(
                builder, set_grid_idx=lambda *_: setattr(builder, "grid_idx", last),
                set_grid_dim=lambda *_: setattr(builder, "grid_dim", grid),
            ))  # fmt: skip
            stack.enter_context(mock.patch.multiple(
                interpreter.GridExecutor, _init_args_hst=lambda _, args, named: (args, named),
                _restore_args_dev=lambda *_: None,
            ))  # fmt: skip
        kernel[(1, 1, 1) if watch.far else grid](*args, **options)


def _in_gluon(kernel: Any, grid: Any, args: tuple[Any, ...], options: dict[str, Any],
               watch: Watch) -> None:  # fmt: skip
    numbers = {id(n): n for n in watch.numbers}
    by_start = {(n.start, n.item): n for n in numbers.values()}
    given: dict[str, Any] = {}
    for name, value in zip(kernel.arg_names, args, strict=True):
        if isinstance(value, (torch.Tensor, Far)):
            own = by_start[value.data_ptr(), value.element_size()]
            given[name] = (
                model.Pointer(model.Nowhere(value.dtype), model.ELEMENTS.get(value.dtype), own)
                if isinstance(value, Far)
                else model.Pointer.to(value, own)
            )
        elif hasattr(value, "block_shape"):
            given[name] = model.descriptor(value.base, value.block_shape)
        else:
            given[name] = value
    name = kernel.fn.__name__
    programs = [tuple(n - 1 for n in grid)] if watch.far else ()
    model.run(name, MODULES[name], grid, options["num_warps"], programs, **given)


def _called(self: Caller, key: Any, launch: Launch, index: None, **operands: Any) -> None:
    given = [operands[name] for name in launch.operands]
    given = [
        Far(each, i) if isinstance(each, torch.Tensor) and each.is_meta else each
        for i, each in enumerate(given)
    ]
    args = (*given, *launch.numbers)
    watch = Watch([each for each in given if isinstance(each, (torch.Tensor, Far))])
    run = _in_gluon if "gluon" in type(self.kernel).__module__ else _portable
    run(self.kernel, launch.grid, args, self.options, watch)
    if not watch.far:
        watch.done()


@contextmanager
def gpu(capability: int, processors: int = 2) -> Iterator[None]:
    """Forms and plans are those of a GPU; launches are run here and watched."""
    if not choose.INTERPRETED:
        pytest.skip("TRITON_INTERPRET=1 was not set before the first import")
    made = launch.Form.__init__

    def with_processors(self: launch.Form, *args: Any) -> None:
        made(self, *args)
        self.processors = processors

    def for_gluon(kind: str, device: object, what: plans.Purpose = ()) -> Any:
        plan = plans.plan(kind, capability, what)
        return (launch_gluon, plan) if plan is not None else (None, None)

    choose.forget()
    with mock.patch.multiple(choose, capability=lambda _: capability, for_gluon=for_gluon,
                             use_triton=lambda *_: True, INTERPRETED=False), \
            mock.patch.object(launch.Form, "__init__", with_processors), \
            mock.patch.object(Caller, "__call__", _called):  # fmt: skip
        yield
    choose.forget()

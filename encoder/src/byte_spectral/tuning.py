"""Autotuning on request: which form with which tiles is fastest here, for one kind of call."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator
from typing import Any

import torch

from byte_spectral import choose, launch, plans
from byte_spectral.checks import bytes_of
from byte_spectral.spec import Spec, make_spec
from byte_spectral.taps import dft_taps

ROUNDS, LAUNCHES = 5, 20


def autotune(
    x: torch.Tensor,
    *,
    window: str = "tail",
    dtype: torch.dtype = torch.float32,
    **transform: Any,
) -> tuple[str, plans.Plan, float]:
    """Time every plan for calls like this one, and use the best from now on in this process.

    Takes seconds to minutes: each plan is compiled. Calls of the same precision, output size and
    window share what was found. The parameters are those of `byte_spectral`.

    Returns:
        The kind of kernel, its plan, and microseconds a call.
    """
    x = bytes_of(x)
    choose.use_triton(x.device, "triton", dtype)
    spec = make_spec(**transform)
    found = choose.capability(x.device)
    us, kind, plan = min(
        (
            (_time(spec, dtype, x, window, kind, plan), kind, plan)
            for kind, plan in plans_for(spec, dtype, found)
        ),
        key=lambda timed: timed[0],
    )
    if math.isinf(us):
        raise RuntimeError("no plan could be launched on this device")
    use(kind, plan, spec, dtype, found)
    return kind, plan, us


def use(kind: str, plan: plans.Plan, spec: Spec, dtype: torch.dtype, capability: int) -> None:
    """Let calls of this kind take the plan, and no other form before it."""
    purpose = choose.purpose(spec, dtype)
    plans.remember(kind, capability, purpose, plan)
    slides = kind in ("sliding", "hopper_sliding")
    plans.remember("slide", capability, purpose, {"window": spec.W if slides else spec.W + 1})
    for before, after in (("hopper", "dot"), ("hopper_sliding", "sliding")):
        resident = plans.plan(before, capability, purpose)
        if kind == after and resident is not None:
            plans.remember(before, capability, purpose, resident | {"widest": 0})
    choose.forget()


def plans_for(spec: Spec, dtype: torch.dtype, capability: int) -> Iterator[tuple[str, plans.Plan]]:
    """The plans worth a try, the shipped ones among them."""
    walk = plans.plan("hopper_sliding", capability, choose.purpose(spec, dtype))
    if walk is not None:
        yield "hopper_sliding", walk
        for turns, be, warps in itertools.product((16, 8), (64, 32), (16, 8)):
            yield "hopper_sliding", walk | {"turns": turns, "be": be, "warps": warps}
    base = plans.sure("sliding", capability)
    for be, warps, steps in itertools.product((64, 128, 256), (1, 2), (32, 64)):
        if steps <= spec.W:
            yield "sliding", base | {"be": be, "warps": warps, "steps": steps}
    base = plans.sure("dot", capability)
    yield "dot", base
    if base.get("limbs") != 0:
        for bm, be, stages in itertools.product((64, 128), (32, 64), (2, 3)):
            yield "dot", base | {"bm": bm, "be": be, "warps": bm // 16, "stages": stages}
    resident = plans.plan("hopper", capability, choose.purpose(spec, dtype))
    if resident is not None:
        yield "hopper", resident
        for be, bm, split in itertools.product((32, 64), (64, 128, 256), (1, 2, 4)):
            yield "hopper", resident | {"bm": bm, "be": be, "warps": bm // 16, "split": split,
                                        "per_sm": min(split, 512 // bm)}  # fmt: skip


def _form(spec: Spec, dtype: torch.dtype, device: torch.device, window: str, kind: str,
          plan: plans.Plan) -> Any:  # fmt: skip
    if kind == "sliding":
        return launch.Sliding(spec, dtype, device, plan, window)
    if kind == "dot":
        return launch.Dot(spec, dtype, device, plan, window)
    sliding = kind == "hopper_sliding"
    forms = choose.of_hopper()
    if device.type != "cuda" or forms is None:
        return None
    if not sliding:
        fits = forms.Hopper.fits(spec, plan)
        return forms.Hopper(spec, dtype, device, plan, window) if fits else None
    if not forms.HopperSliding.fits(spec, plan, window):
        return None
    other = plans.sure("sliding", choose.capability(device), choose.purpose(spec, dtype))
    return forms.HopperSliding(spec, dtype, device, plan,
                               launch.Sliding(spec, dtype, device, other, window))  # fmt: skip


def _time(spec: Spec, dtype: torch.dtype, x: torch.Tensor, window: str, kind: str,
          plan: plans.Plan) -> float:  # fmt: skip
    """Microseconds a call, infinite where the device cannot run the plan."""
    form = _form(spec, dtype, x.device, window, kind, plan)
    if form is None:
        return math.inf
    try:
        taps = dft_taps(spec, window).float().to(x.device)
        packed = form.pack(taps) if hasattr(form, "pack") else None
        form(x, packed)
        return _median(lambda: form(x, packed), x.device)
    except RuntimeError:
        raise
    except Exception as error:
        if type(error).__name__ == "OutOfResources":  # of Triton: shared memory or registers
            return math.inf
        raise


def _median(call, device: torch.device) -> float:  # type: ignore[no-untyped-def]
    times = []
    for _ in range(ROUNDS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(LAUNCHES):
            call()
        end.record()
        torch.cuda.synchronize(device)
        times.append(begin.elapsed_time(end) * 1000 / LAUNCHES)
    return statistics.median(times)

"""Choice of the form by device, window and precision. Forms are made once and kept."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from contextlib import suppress
from typing import Any

import torch

from byte_spectral import pack, plans
from byte_spectral.spec import Spec
from byte_spectral.taps import dft_taps

# forms and packed taps by all arguments of a call that needs no check any more
ready: dict[tuple[Any, ...], tuple[Any, Any]] = {}
OUTPUTS = (torch.float32, torch.bfloat16, torch.float16)
NO_TRITON = "this Python has no triton, which backend='triton' needs; install the one of its torch"
HAS_TRITON = importlib.util.find_spec("triton") is not None
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # Triton reads it once, too


def for_gluon(kind: str, device: torch.device, what: plans.Purpose = ()) -> Any:
    """The module of forms in Gluon and a plan, or None, None where only one of them exists."""
    plan = plans.plan(kind, capability(device), what) if device.type == "cuda" else None
    with suppress(ImportError, AttributeError):  # a Triton without Gluon, or with an older one
        if plan is not None:
            return importlib.import_module("byte_spectral.launch_gluon"), plan
    return None, None


def check_choice(backend: str, dtype: torch.dtype) -> None:
    """Raises ValueError or TypeError for a backend or a type of output that there is not."""
    if backend not in ("auto", "triton", "torch"):
        raise ValueError(f"backend must be auto, triton or torch, not {backend!r}")
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(
            f"dtype must be a type of real numbers, such as torch.float32, not {dtype!r}"
        )


def has_autocast(device: torch.device) -> bool:
    """The usual devices are not asked: torch.compile of PyTorch 2.11 cannot trace the question."""
    return device.type in ("cpu", "cuda") or torch.amp.is_autocast_available(device.type)


def autocast_type(device: torch.device) -> torch.dtype | None:
    """The type to which autocast casts a linear layer's operands; None without autocast."""
    kind = device.type
    if not has_autocast(device) or not torch.is_autocast_enabled(kind):
        return None
    return torch.get_autocast_dtype(kind)


def use_triton(device: torch.device, backend: str, dtype: torch.dtype) -> bool:
    """True where the kernels run; raises an error where they were requested and cannot."""
    check_choice(backend, dtype)
    if backend == "torch":
        return False
    runs = device.type == "cuda" or (INTERPRETED and device.type == "cpu")
    if backend == "auto":
        return runs and device.type == "cuda" and HAS_TRITON and dtype in OUTPUTS
    if not HAS_TRITON:
        raise ModuleNotFoundError(NO_TRITON, name="triton")
    if not runs:
        raise ValueError(f"backend='triton' needs x on a CUDA device, not on {device}")
    if dtype not in OUTPUTS:
        raise ValueError(f"backend='triton' writes float32, bfloat16 or float16, not {dtype}")
    return True


@functools.cache
def capability(device: torch.device) -> int:
    """10 * major + minor of NVIDIA's GPU, 0 of AMD's; the interpreter has tensor cores."""
    if device.type != "cuda":
        return 80
    if torch.version.hip is not None:
        return 0
    major, minor = torch.cuda.get_device_capability(device)
    return 10 * major + minor


def size_of(x: torch.Tensor, K: int) -> int:
    """The class of a call by its work; see `plans.size_of`."""
    return plans.size_of(x.shape[0] * x.shape[1] * K)


def purpose(spec: Spec, dtype: torch.dtype, size: int) -> plans.Purpose:
    """The conditions by which plans differ."""
    return (
        ("precision", spec.precision),
        ("bytes", dtype.itemsize),
        ("parts", spec.parts),
        ("rows", pack.power_of_two(spec.W)),
        ("whole", spec.W % 32 == 0),
        ("turned", spec.W * 2 % spec.N != 0),
        ("size", size),
    )


@functools.lru_cache(maxsize=512)
def form(spec: Spec, dtype: torch.dtype, device: torch.device, window: str | None,
         has_lengths: bool, size: int, width: int = 0, gated: bool = False) -> Any:  # fmt: skip
    """The form for a named window, or for taps of any kind (None); width: of a layer behind it."""
    from byte_spectral import launch

    what = purpose(spec, dtype, size)
    if window is not None and not width:
        forms, plan = for_gluon("walk", device, what)
        if forms is not None and plan["window"] <= spec.W:
            return forms.Walking(spec, dtype, device, plan, window)
    # zero positions are made by empty frames, whose logarithm is not 0
    if not (has_lengths and spec.parts == "logmag"):
        forms, plan = for_gluon("hopper_linear" if width else "hopper", device, what)
        if forms is not None and forms.Hopper.fits(spec, plan, width):
            if window is None:  # taps packed by the launch before: they must be waited for
                plan = plan | {"pdl": False}
            return forms.Hopper(spec, dtype, device, plan, window, width, gated)
    plan = plans.sure("linear" if width else "dot", capability(device), what)
    return launch.Dot(spec, dtype, device, plan, window, width, gated)


@functools.lru_cache(maxsize=512)
def prepared(spec: Spec, dtype: torch.dtype, device: torch.device, window: str,
             has_lengths: bool, size: int, *layer: Any) -> tuple[Any, Any]:  # fmt: skip
    """A form and its packed taps, for a named window."""
    chosen = form(spec, dtype, device, window, has_lengths, size, *layer)
    packed = None if chosen.constants else chosen.pack(constant_taps(spec, window, device))
    # constants must be in memory: kernels read them before the last launch has ended
    if device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
        torch.cuda.current_stream(device).synchronize()
    return chosen, packed


@functools.lru_cache(maxsize=64)
def constant_taps(spec: Spec, window: str, device: torch.device) -> torch.Tensor:
    return dft_taps(spec, window).float().to(device)


@functools.lru_cache(maxsize=128)
def gradient(spec: Spec, device: torch.device) -> Any:
    """The form of the gradient of taps, or None where it is left to PyTorch."""
    forms, plan = for_gluon("hopper_gradient", device)
    fits = forms is not None and spec.parts != "reim" and plan["bk"] >= spec.W
    return forms.Gradient(spec, device, plan) if fits else None


def forget() -> None:
    """Drop all forms, so that the next calls use the present plans."""
    ready.clear()
    for cache in (form, prepared, gradient):
        cache.cache_clear()

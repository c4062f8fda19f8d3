"""What the kernels of sm_90 compute, without a GPU; see `gluon_in_numpy` for what that leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

import gluon_in_numpy as model

from tritonwin.spectral import (
    hopper,
    hopper_frame,
    hopper_gradient,
    hopper_sliding,
    hopper_sums,
    launch_hopper,
    pack,
    reference,
)
from tritonwin.spectral.launch_gradient import Gradient
from tritonwin.spectral.spec import Spec, make_spec
from tritonwin.spectral.taps import dft_taps

CPU = torch.device("cpu")


def random_bytes(B: int, T: int) -> torch.Tensor:
    return torch.randint(256, (B, T), dtype=torch.uint8, generator=torch.Generator().manual_seed(B))


def apart(found: Any, wanted: torch.Tensor) -> float:
    found = torch.as_tensor(found).double().reshape(wanted.shape)
    assert bool(torch.isfinite(found).all())
    return float((found - wanted).norm() / wanted.norm())


@pytest.mark.parametrize(
    ("K", "W", "T", "plan"),
    [
        (128, 64, 128, {}),  # each program has as many chunks as the others, and whole ones
        (96, 64, 128, {"split": 2}),  # four chunks, of which the matrix has three
        (160, 64, 101, {"split": 2}),
        (80, 64, 128, {}),  # half a chunk
        (96, 40, 128, {"split": 3}),
        (96, 64, 128, {"shared": 4 * 2 * 64 * 32}),  # one chunk fits a program
        (160, 128, 70, {"shared": 2 * 4 * 2 * 128 * 32}),  # two fit, so three programs for five
    ],
    ids=str,
)
def test_encode(K: int, W: int, T: int, plan: dict[str, int]) -> None:
    """Written is the output and nothing else, however the bins are shared between programs."""
    spec = make_spec(W, K, None, "mag", True)
    given = {"bm": 64, "be": 32, "warps": 4, "split": 1, "per_sm": 1, "shared": 227000} | plan
    form = launch_hopper.Hopper(spec, torch.float32, CPU, given, "tail")
    x, taps, be, chunks = random_bytes(3, T), dft_taps(spec), given["be"], form.split * form.chunks
    packed = torch.zeros(chunks * 2 * form.rows, 2 * be, dtype=torch.float16)
    some = pack.arrange(taps.float(), 2, form.rows, be, form.shift, form.pairs).flatten(0, 2)
    packed[: len(some)] = some
    grid, rest = form.arguments(x, None, 0)
    named = dict(zip(hopper.encode.arg_names[4:], rest, strict=True))
    space = np.full((3 * T + 1, K), np.nan, np.float32)  # a row more than is wanted
    written = np.zeros(space.size, int)
    model.run(
        "encode", (hopper, hopper_frame), grid[:2], given["warps"], x=model.Pointer(x.numpy()),
        taps=model.descriptor(packed.numpy(), form.box), out=model.Pointer(space, written=written),
        lengths=None, **named,
    )  # fmt: skip
    assert written.reshape(space.shape).tolist() == [[1] * K] * (3 * T) + [[0] * K]
    assert apart(space[:-1], reference(x, W=W, K=K)) < 1e-6


@pytest.mark.parametrize(
    ("B", "T", "K", "W", "warps", "bm", "parts"),
    [
        (2, 256, 128, 64, 4, 64, "mag"),
        (2, 256, 128, 64, 8, 32, "logmag"),
        (3, 101, 48, 40, 4, 32, "power"),  # no tile is regular
    ],
)
def test_gradient_of_taps(B: int, T: int, K: int, W: int, warps: int, bm: int, parts: str) -> None:
    spec = make_spec(W, K, None, parts, True)
    x, taps = random_bytes(B, T), dft_taps(spec)
    upstream = torch.randn(B, T, K, generator=torch.Generator().manual_seed(1))
    plan = {"bm": bm, "be": 16 * warps, "bk": 64, "splits": 3, "warps": warps}
    form = Gradient(spec, CPU, plan, 2)
    packed = packed_taps(form, taps.float(), plan["be"])
    partial = torch.full((3, 2, 64, form.bins), float("nan"))
    regular = T % bm == 0 and K % plan["be"] == 0
    model.run(
        "gradient", (hopper_gradient, hopper_frame), (3, form.bins // plan["be"]), warps,
        x=model.Pointer(x.numpy()), taps=model.descriptor(packed.numpy()),
        upstream=model.Pointer(upstream.numpy()), partial=model.Pointer(partial.numpy()), M=B * T,
        T=T, stride_x=T, K=K, splits=3, WP=64, KP=form.bins, SHIFT=form.shift, LIMBS=2,
        OUT_LIMBS=2, PARTS=parts, REGULAR=regular, BN=bm, DEFER=bm == 64, AHEAD=True, PDL=False,
    )  # fmt: skip
    learnt = taps.clone().requires_grad_()
    wanted = expected(x, learnt, upstream, spec)
    assert apart(form.sum_up(partial), wanted) < (1e-3 if parts == "logmag" else 3e-5)


def packed_taps(form: Gradient, taps: torch.Tensor, be: int) -> torch.Tensor:
    """By the kernel, in Triton's interpreter."""
    size = 2 * form.rows * form.bins
    packed = torch.empty((2 * size // form.rows, form.rows), dtype=torch.float16)
    hopper_gradient.pack[(2, 1, 1)](
        taps, packed, form.spec.K, 2.0**form.shift / 255, form.spec.W, form.rows, be, 2, size // 2,
        False,
    )  # fmt: skip
    return packed


def expected(
    x: torch.Tensor, taps: torch.Tensor, upstream: torch.Tensor, spec: Spec
) -> torch.Tensor:
    from tritonwin.spectral.definition import finish, frames

    out = finish(frames(x, spec, None) @ taps, spec, x, None)
    (found,) = torch.autograd.grad(out, taps, upstream.double())
    return found


@pytest.mark.parametrize(
    ("T", "W", "turns", "be", "warps", "parts", "limbs", "bound"),
    [
        (1024, 512, 16, 64, 16, "mag", (2, 2), 1e-6),
        (700, 512, 8, 32, 8, "mag", (2, 2), 1e-6),  # a row ends in a window
        (512, 512, 16, 64, 16, "logmag", (2, 2), 1e-5),
        (1024, 512, 16, 64, 16, "power", (2, 1), 2e-4),
    ],
)
def test_walk(
    T: int, W: int, turns: int, be: int, warps: int, parts: str, limbs: tuple[int, int],
    bound: float,
) -> None:  # fmt: skip
    spec = make_spec(W, 64, None, parts, True)
    x, steps = random_bytes(1, T), W // 16
    made = pack.walking(spec, steps, turns, be, limbs[0])
    out = np.full((1, T, 64), np.nan, np.float32)
    table, turn, ramp = (
        model.Pointer(t.contiguous().numpy()) for t in (made.table, made.turn, made.ramp)
    )
    model.run(
        "walk", (hopper_sliding, hopper_sums, hopper), (-(-T // W), 64 // be), warps,
        x=model.Pointer(x.numpy()), taps=model.descriptor(made.taps.numpy()),
        out=model.Pointer(out), table=table, turn=turn, ramp=ramp, length=T, stride_x=T,
        scale=np.float32(made.scale), K=64, CHUNKS=16, STEPS=steps, TURNS=turns, BE=be,
        SHIFT=pack.shift_of(W), LIMBS=limbs[0], BYTE_LIMBS=limbs[1], PARTS=parts, EVEN=T % W == 0,
        PDL=False,
    )  # fmt: skip
    assert apart(out, reference(x, W=W, K=64, parts=parts)) < bound

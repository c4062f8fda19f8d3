"""Musts 1 to 4: against the floor, long windows, fused with Linear, against PyTorch."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

import byte_spectral
from bench_parts.baselines import Transform, lookup
from bench_parts.clock import Launch
from bench_parts.record import FIRST, LONG, MODES, ROUNDS, SHAPES, Bench, Shape, size_of


def encode(bench: Bench, shape: Shape, **options: Any) -> Launch:
    """The encoder as `Clock.busy` wants it."""
    inputs = bench.inputs(shape)

    def launch(i: int) -> Tensor:
        return byte_spectral.byte_spectral(
            inputs[i % len(inputs)], K=shape[2], W=shape[3], **options
        )

    return launch


def against_the_floor(bench: Bench) -> None:
    """Must 1: the rate as a share of a store-only kernel's."""
    limits = {"exact fp32": 0.85, "fast fp32": 0.90, "fast bf16": 0.80}
    for shape in map(bench.shape, (FIRST, LONG)):
        stores = {dtype: floors(bench, shape, dtype) for dtype in (torch.float32, torch.bfloat16)}
        launches = {mode: encode(bench, shape, **options) for mode, options in MODES.items()}
        sizes = {mode: size_of(shape, options["dtype"]) for mode, options in MODES.items()}
        for mode, timing in bench.in_turn(launches, sizes).items():
            us = bench.case(mode, shape, timing)
            for kind, floor in stores[MODES[mode]["dtype"]].items():
                bench.goal("1", f"{mode}, share of the rate of {kind}, {shape}", floor / us,
                           limits[mode], least=True)  # fmt: skip


def floors(
    bench: Bench, shape: Shape, dtype: torch.dtype, rounds: int = ROUNDS
) -> dict[str, float]:
    """The fastest store-only kernels: launched one by one, and beginning early."""
    launches: dict[str, Launch] = {"fill": partial(_fill, shape, dtype)}
    kinds = {"store only": ["fill"]}
    if bench.clock.on_gpu:
        from bench_parts.store import store_only, variants

        found = variants()
        launches = {str(each): store_only(shape[:3], dtype, *each) for each in found}
        kinds = {
            "store only": [str(each) for each in found if not each[2]],
            "store only, early": [str(each) for each in found if each[2]],
        }
    size = size_of(shape, dtype)
    timings = bench.in_turn(launches, dict.fromkeys(launches, size), rounds)
    best = {}
    for kind, names in kinds.items():
        if names:
            name = min(names, key=lambda each: timings[each].us)
            best[kind] = bench.case(f"{kind} {_name(dtype)}", shape, timings[name], variant=name)
    return best


def _fill(shape: Shape, dtype: torch.dtype, i: int) -> Tensor:
    return torch.full(shape[:3], float(i), dtype=dtype)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def long_windows(bench: Bench) -> None:
    """Must 2: the cost of W=1024 against W=128."""
    b, t, k, _ = bench.shape(FIRST)
    widths = (4, 8) if bench.tiny else (64, 128, 256, 1024)
    for mode, options in MODES.items():
        size = size_of((b, t, k, 0), options["dtype"])
        launches = {str(w): encode(bench, (b, t, k, w), **options) for w in widths}
        found = bench.in_turn(launches, dict.fromkeys(launches, size))
        for w in widths:
            bench.case(mode, (b, t, k, w), found[str(w)])
        ratio = found[str(widths[-1])].us / found[str(widths[-3 if len(widths) > 2 else 0])].us
        bench.goal("2", f"{mode}, W={widths[-1]} over W=128", ratio, 1.3, least=False)


def fused_linear(bench: Bench) -> None:
    """Must 3: bytes to Linear(256 -> 256) in one kernel, against an embedding lookup."""
    for shape in map(bench.shape, (FIRST, LONG)):
        _, _, k, w = shape
        inputs = bench.inputs(shape)
        device = bench.clock.device
        weight = torch.randn(k, k, device=device, dtype=torch.bfloat16) / k**0.5
        table = torch.randn(256, k, device=device, dtype=torch.bfloat16)
        ids = {d: [x.flatten().to(d) for x in inputs] for d in (torch.int32, torch.int64)}

        def fused(i: int, inputs: list[Tensor] = inputs, weight: Tensor = weight,
                  k: int = k, w: int = w) -> Tensor:  # fmt: skip
            return byte_spectral.byte_spectral_linear(inputs[i % len(inputs)], weight, W=w, K=k)

        def unfused(i: int, inputs: list[Tensor] = inputs, weight: Tensor = weight,
                    k: int = k, w: int = w) -> Tensor:  # fmt: skip
            x = inputs[i % len(inputs)]
            features = byte_spectral.byte_spectral(
                x, W=w, K=k, precision="fast", dtype=torch.bfloat16
            )
            return torch.nn.functional.linear(features, weight)

        launches: dict[str, Launch] = {"fused": fused, "unfused": unfused}
        for dtype, rows in ids.items():
            launches[f"lookup {_name(dtype)}"] = partial(_looked_up, table, rows)
        found = bench.in_turn(launches, dict.fromkeys(launches, size_of(shape, torch.bfloat16)))
        for name, timing in found.items():
            bench.case(name, shape, timing)
        fastest = min(found[f"lookup {_name(d)}"].us for d in ids)
        bench.goal("3", f"fused Linear over embedding lookup, {shape}", found["fused"].us / fastest,
                   1.0, least=False)  # fmt: skip
        if shape == bench.shape(FIRST):
            bench.goal("3", f"fused Linear, us, {shape}", found["fused"].us, 15.0, least=False)


def _looked_up(table: Tensor, ids: list[Tensor], i: int) -> Tensor:
    return lookup(table, ids[i % len(ids)])


def against_pytorch(bench: Bench) -> None:
    """Must 4: the naive loop, torch.stft and batched rfft at every shape of the sheet."""
    for shape in map(bench.shape, SHAPES):
        transform = Transform.on(bench.clock.device, shape[3], shape[2])
        inputs = bench.inputs(shape)
        size = size_of(shape, torch.float32)
        launches: dict[str, Launch] = {
            "torch.stft": lambda i, t=transform, x=inputs: t.stft(x[i % len(x)]),  # type: ignore[misc]
            "torch.fft.rfft": lambda i, t=transform, x=inputs: t.rfft(x[i % len(x)]),  # type: ignore[misc]
            **{mode: encode(bench, shape, **options) for mode, options in MODES.items()},
        }
        sizes = {k: size // 2 if k.endswith("bf16") else size for k in launches}
        found = bench.in_turn(launches, sizes)
        for name, timing in found.items():
            bench.case(name, shape, timing)
        loop = bench.clock.eager(partial(transform.naive, inputs[0]), repeats=3, warm=1)
        bench.case("naive loop, eager", shape, loop)
        for mode in ("exact fp32", "fast fp32"):
            bench.goal("4", f"naive loop over {mode}, {shape}", loop.us / found[mode].us, 1000,
                       least=True)  # fmt: skip
            bench.goal("4", f"torch.stft over {mode}, {shape}",
                       found["torch.stft"].us / found[mode].us, 10, least=True)  # fmt: skip


def naive_without_host(bench: Bench) -> None:
    """The loop in a graph: what of its time is the device's and what the launches'."""
    shape = bench.shape(FIRST)
    transform = Transform.on(bench.clock.device, shape[3], shape[2])
    x = bench.inputs(shape, count=1)[0]
    timing = bench.clock.busy(lambda _: transform.naive(x), 1 << 30, replays=3)
    bench.case("naive loop, graph", shape, timing)


def host_time(bench: Bench) -> None:
    """Must 4: what an eager call costs the host, where the device is never the slower one."""
    shape = bench.shape((8, 512, 256, 64))
    x = bench.inputs(shape, count=1)[0]
    for mode, options in MODES.items():
        call = partial(byte_spectral.byte_spectral, x, W=shape[3], K=shape[2], **options)
        timing = bench.clock.host(call)
        bench.case(mode, shape, timing)
        bench.goal("4", f"host time of an eager call, us, {mode}", timing.us, 35.0, least=False)


def ceilings(bench: Bench) -> None:
    """Ceilings of this card: bytes a second copied and filled, in GB/s."""
    size = 1 << (20 if bench.tiny else 31)
    source, target = (torch.ones(size, dtype=torch.uint8, device=bench.clock.device) for _ in "12")
    for what, moved, call in (("copy", 2, partial(target.copy_, source)),
                              ("fill", 1, partial(target.fill_, 3))):  # fmt: skip
        timing = bench.clock.eager(call, repeats=10)
        bench.case(what, (0, 0, 0, 0), timing, gb_per_s=moved * size / timing.us / 1e3)

"""Seconds to compile a kernel for the first time and again, and of which part of it."""

from __future__ import annotations

import time
from typing import Any

import triton
from bench_kernels import matmul
from triton.backends.compiler import GPUTarget

_SIGNATURE = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
_CONSTANTS = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP": 8}


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    target = GPUTarget("cuda", arguments["arch"], 32)
    parts: dict[str, float] = {}
    _time_stages(target, parts)
    cold = _seconds(target)
    seen = dict(parts)
    warm = min(_seconds(target) for _ in range(5))
    figures: dict[str, Any] = {"cold_s": round(cold, 4), "warm_s": round(warm, 5)}
    figures.update({f"{part}_s": round(seconds, 4) for part, seconds in seen.items()})
    slowest = max(seen, key=lambda part: seen[part])
    shown = f"{cold:.2f} s, of which {slowest} {seen[slowest]:.2f} s; again {warm * 1e3:.1f} ms"
    return shown, figures


def _seconds(target: GPUTarget) -> float:
    start = time.perf_counter()
    triton.compile(_source(), target=target)
    return time.perf_counter() - start


def _source() -> Any:
    """Arguments by name; Triton before 3.2 counts them, and names constants by their place."""
    old = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2)
    signature: dict[Any, str] = dict(_SIGNATURE)
    constants: dict[Any, int] = dict(_CONSTANTS)
    if old:
        signature = dict(enumerate(_SIGNATURE.values()))
        constants = {len(signature) + n: v for n, v in enumerate(_CONSTANTS.values())}
    else:
        signature.update(dict.fromkeys(_CONSTANTS, "constexpr"))
        constants = {(len(_SIGNATURE) + n,): v for n, v in enumerate(_CONSTANTS.values())}
    return triton.compiler.ASTSource(matmul, signature, constants)


def _time_stages(target: GPUTarget, parts: dict[str, float]) -> None:
    """Every Triton makes its stages in `add_stages`; what each takes is added to `parts`."""
    backend = type(triton.compiler.make_backend(target))
    original = backend.add_stages

    def add_stages(self: Any, stages: dict[str, Any], *rest: Any, **named: Any) -> Any:
        done = original(self, stages, *rest, **named)
        for name, stage in list(stages.items()):
            stages[name] = _timed(name, stage, parts)
        return done

    backend.add_stages = add_stages


def _timed(name: str, stage: Any, parts: dict[str, float]) -> Any:
    def run(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return stage(*arguments)
        finally:
            parts[name] = parts.get(name, 0.0) + time.perf_counter() - start

    return run

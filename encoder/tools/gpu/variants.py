"""Plans of other sizes for calls of few positions, beside the plans that hold, on one GPU.
`python tools/gpu/variants.py OUT [compile]`

Each shape is timed with every variant in turn; errors are against float64.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
import triton
from grid import MODES, errors, in_turn, prepared, random_bytes

from byte_spectral import choose, plans

Options = dict[str, Any]
FRAMES: list[Options] = [
    {}, {"pdl": False}, {"split": 2}, {"split": 4}, {"split": 4, "pdl": False},
    {"per_sm": 2}, {"per_sm": 2, "pdl": False}, {"bm": 64, "warps": 4, "per_sm": 2},
    {"bm": 64, "warps": 4, "per_sm": 2, "split": 2},
]  # fmt: skip
WALKS: list[Options] = [
    {}, {"pdl": 0}, {"pdl": 1}, {"be": 32, "steps": 32, "warps": 4},
    {"be": 32, "steps": 64, "warps": 4}, {"be": 64, "steps": 16, "warps": 8},
    {"be": 64, "steps": 32, "warps": 8}, {"be": 32, "steps": 16, "warps": 8},
]  # fmt: skip
CASES: list[tuple[tuple[int, int, int, int, str], str, list[Options]]] = [
    *(((B, 1024, K, 64, "mag"), "hopper", FRAMES)
      for B, K in ((4, 256), (16, 256), (32, 32), (32, 48), (32, 96))),
    *((shape, "walk", WALKS)
      for shape in ((4, 1024, 256, 1024, "mag"), (32, 1024, 32, 1024, "mag"),
                    (32, 1024, 32, 256, "mag"))),
]  # fmt: skip


def made(shape: Any, mode: str, kind: str, options: Options) -> tuple[Any, Any]:
    """The form and its taps with a plan of other numbers."""
    real = plans.plan

    def plan(name: str, *what: Any) -> plans.Plan | None:
        found = real(name, *what)
        return found | options if found is not None and name == kind else found

    with mock.patch.object(plans, "plan", plan):
        choose.forget()
        found = prepared("byte_spectral", shape, mode)
    choose.forget()
    return found


def tried(job: tuple[Any, str, str, Options]) -> tuple[Any, Any] | str:
    """The form and its taps after a launch, or why there is none."""
    try:
        form, packed = made(*job)
        form(random_bytes(*job[0][:2]), packed)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{job}: {type(error).__name__}: {error}"
    return form, packed


def compiled(job: tuple[Any, str, str, Options]) -> str | None:
    found = tried(job)
    return found if isinstance(found, str) else None


def main(out: Path, only_compile: bool) -> None:
    jobs = [(shape, mode, kind, options) for shape, kind, every in CASES for mode in MODES
            for options in every]  # fmt: skip
    if only_compile:
        with multiprocessing.get_context("spawn").Pool(int(os.environ.get("JOBS", "6"))) as pool:
            print(*filter(None, pool.imap_unordered(compiled, jobs)), "compiled", sep="\n")
        return
    rows = []
    for shape, kind, every in CASES:
        B, T, K, _, _ = shape
        inputs = [random_bytes(B, T) for _ in range(4)]
        for mode, (_, dtype) in MODES.items():
            every_form = {json.dumps(o): tried((shape, mode, kind, o)) for o in every}
            forms = {name: found for name, found in every_form.items() if isinstance(found, tuple)}
            print(*(found for found in every_form.values() if isinstance(found, str)), flush=True)
            launches = {
                name: lambda i, form=form, packed=packed, xs=inputs: form(xs[i % 4], packed)
                for name, (form, packed) in forms.items()
            }
            us = in_turn(launches, math.prod((B, T, K)) * dtype.itemsize)
            rows.append({
                "shape": shape, "mode": mode, "kind": kind, "us": us,
                "errors": {name: max(errors(*form, shape)) for name, form in forms.items()},
            })  # fmt: skip
            print(*shape, mode, *(f"{name} {each:.2f};" for name, each in us.items()), flush=True)
            (out / "variants.json").write_text(json.dumps({
                "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "triton": triton.__version__, "rows": rows,
            }, indent=1) + "\n")  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("TRITON_CACHE_DIR", "/tmp/triton-grid")
    main(Path(sys.argv[1]), "compile" in sys.argv[2:])

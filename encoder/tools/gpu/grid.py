"""The encoder over a grid of shapes on one GPU, beside a store-only kernel of the same output, the limit of
the tensor cores, and an earlier version of itself. `python tools/gpu/grid.py OUT [OLD]`.

OLD is a folder with the package of an earlier commit, its name changed to `old_spectral`. Times are medians
of CUDA graphs whose launches rotate over buffers, replayed in turn; errors are against float64.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "src"), str(HERE.parents[2] / "benchmarks"), *sys.argv[2:3]]

import torch  # noqa: E402
import triton  # noqa: E402

MODES = {
    "exact": ("exact", torch.float32),
    "fast": ("fast", torch.float32),
    "bf16": ("fast", torch.bfloat16),
}
# B, T, K, W, parts
SHAPES = [
    *((32, 1024, 256, W, "mag") for W in
      (8, 16, 31, 64, 96, 101, 128, 192, 256, 384, 509, 512, 1000, 1024, 2048, 4096)),
    *((32, 1024, K, W, "mag") for K in (32, 48, 96, 320, 512) for W in (64, 96, 256, 1024)),
    *((B, T, 256, W, "mag") for B, T in ((4, 1024), (16, 1024), (16, 8192), (128, 8192))
      for W in (64, 256, 1024)),
    *((32, 1024, 128, W, parts) for parts in ("reim", "logmag") for W in (64, 256, 1024)),
    (8, 8192, 256, 4096, "mag"), (3, 4001, 200, 777, "mag"),
]  # fmt: skip
ROTATION = 600_000_000


def by_line(found: dict[str, Any]) -> str:
    """JSON in which each item of a list has a line."""
    parts = [
        f" {json.dumps(key)}: "
        + (
            "[\n" + ",\n".join(f"  {json.dumps(each)}" for each in value) + "\n ]"
            if isinstance(value, list)
            else json.dumps(value)
        )
        for key, value in found.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


class Graph:
    """Launches captured once; `whole` if each number of each output is written."""

    def __init__(self, launch: Callable[[int], torch.Tensor], size: int) -> None:
        self.count = max(4, min(64, ROTATION // size))
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            launch(0)
        torch.cuda.current_stream().wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            outputs = [launch(i) for i in range(self.count)]
        for each in outputs:
            each.fill_(float("nan"))
        self.graph.replay()
        self.whole = not any(bool(each.isnan().any()) for each in outputs)
        self.outputs = outputs
        self.marks: list[Any] = []

    def replay(self) -> None:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self.graph.replay()
        end.record()
        self.marks.append((begin, end))

    def us(self) -> float:
        torch.cuda.synchronize()
        return statistics.median(1000 * a.elapsed_time(b) / self.count for a, b in self.marks)


def in_turn(launches: dict[str, Callable[[int], torch.Tensor]], size: int) -> dict[str, float]:
    graphs = {name: Graph(launch, size) for name, launch in launches.items()}
    for _ in range(9):
        for graph in graphs.values():
            graph.replay()
    assert all(graph.whole for graph in graphs.values()), "numbers that are not written"
    return {name: graph.us() for name, graph in graphs.items()}


def stores(shape: tuple[int, ...], dtype: torch.dtype) -> float:
    from store import store_only, variants

    launches = {str(each): store_only(shape, dtype, *each) for each in variants()}
    return min(in_turn(launches, math.prod(shape) * dtype.itemsize).values())


def tensor_rate() -> float:
    """Multiplications and additions a microsecond of a large product in half precision."""
    n = 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    return 2 * n**3 / in_turn({"": lambda _: a @ b}, 2 * n * n)[""]


def prepared(package: str, shape: Any, mode: str) -> Any:
    """The form that the package takes for such a call, and its taps."""
    choose = __import__(f"{package}.choose").choose
    make_spec = __import__(f"{package}.spec").spec.make_spec
    B, T, K, W, parts = shape
    precision, dtype = MODES[mode]
    spec = make_spec(W, K, parts=parts, precision=precision)
    more = []
    if hasattr(choose, "size_of"):
        more = [choose.size_of(torch.empty(B, T, device="meta"), K)]
    return choose.prepared(spec, dtype, torch.device("cuda", 0), "tail", False, *more)


def compiled(job: tuple[str, Any, str]) -> str | None:
    try:
        form, packed = prepared(*job)
        form(random_bytes(*job[1][:2]), packed)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{job}: {type(error).__name__}: {error}"
    return None


def random_bytes(B: int, T: int) -> torch.Tensor:
    return torch.randint(256, (B, T), dtype=torch.uint8, device="cuda")


def text(B: int, T: int) -> torch.Tensor:
    found = b"".join(path.read_bytes() for path in sorted(HERE.parents[2].rglob("*.md")))
    row = torch.frombuffer(
        bytearray(found * (1 + (B * T) // len(found)))[: B * T], dtype=torch.uint8
    )
    return row.reshape(B, T).cuda()


def errors(form: Any, packed: Any, shape: Any) -> list[float]:
    """Of the first and the last row, of random bytes and of text."""
    from byte_spectral import reference

    B, T, K, W, parts = shape
    found = []
    for x in (random_bytes(B, T), text(B, T)):
        out = form(x, packed)[[0, -1]].double()
        wanted = reference(x[[0, -1]], W=W, K=K, parts=parts)
        found.append(float((out - wanted).norm() / wanted.norm()))
    return found


def main(out: Path, packages: list[str], seconds: float) -> None:
    start = time.monotonic()
    jobs = [(p, shape, mode) for p in packages for shape in SHAPES for mode in MODES]
    with multiprocessing.get_context("spawn").Pool(14) as pool:
        wrong = [said for said in pool.imap_unordered(compiled, jobs) if said]
    print(*wrong, f"compiled in {time.monotonic() - start:.0f} s", sep="\n", flush=True)
    rate, floors, rows = tensor_rate(), {}, []
    for shape in SHAPES:
        B, T, K, W, parts = shape
        E = K * (1 + (parts == "reim"))
        inputs = [random_bytes(B, T) for _ in range(4)]
        for mode, (precision, dtype) in MODES.items():
            if time.monotonic() - start > seconds:
                print("no time for the rest")
                return
            if (B * T, E, dtype) not in floors:
                floors[B * T, E, dtype] = stores((B, T, E), dtype)
            forms = {package: prepared(package, shape, mode) for package in packages}
            launches = {
                name: lambda i, form=form, packed=packed, xs=inputs: form(xs[i % 4], packed)
                for name, (form, packed) in forms.items()
            }
            us = in_turn(launches, B * T * E * dtype.itemsize)
            form, packed = forms["byte_spectral"]
            kind = type(form).__name__
            flops = 0 if "Walk" in kind else 4 * B * T * W * K * (1 + (precision == "exact"))
            row = {
                "shape": shape[:4], "parts": parts, "mode": mode, "form": kind,
                "store": floors[B * T, E, dtype], "tensor": flops / rate,
                "us": us["byte_spectral"], "old": us.get("old_spectral"),
                "old_form": type(forms["old_spectral"][0]).__name__ if len(forms) > 1 else None,
                "errors": errors(form, packed, shape),
            }  # fmt: skip
            row["share"] = max(row["store"], row["tensor"]) / row["us"]
            rows.append(row)
            (out / "grid.json").write_text(by_line({
                "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "triton": triton.__version__, "rate": rate, "rows": rows,
            }))  # fmt: skip
    for row in rows:
        print(*row["shape"], row["parts"], row["mode"], row["form"], f"{row['store']:.2f}",
              f"{row['us']:.2f}", f"{row['share']:.2f}", row["old"] and f"{row['old']:.2f}",
              *(f"{e:.1e}" for e in row["errors"]))  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("TRITON_CACHE_DIR", "/tmp/triton-grid")
    known = ["byte_spectral"] + ["old_spectral"] * (len(sys.argv) > 2)
    main(Path(sys.argv[1]), known, float(os.environ.get("LIMIT", "280")))

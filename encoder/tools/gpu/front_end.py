"""The front end of a byte-level model on one GPU, embedding + projected features, in one kernel and in
separate steps, beside PyTorch's embedding lookup alone. `python tools/gpu/front_end.py OUT`.

bf16, W=64, `mag`, fast; the lookup is given its indices in 64 bits, as PyTorch wants them. CUDA graphs
whose launches rotate over buffers, replayed in turn; ratios are medians over the pairs.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "src"), str(HERE.parents[2] / "benchmarks"), str(HERE.parent)]

import torch  # noqa: E402
import triton  # noqa: E402
from grid import Graph, by_line  # noqa: E402
from torch.nn.functional import embedding, linear  # noqa: E402

from byte_spectral import byte_spectral, byte_spectral_linear, reference  # noqa: E402

SHAPES = [(32, 1024, 256, 256), (8, 8192, 256, 256), (64, 512, 128, 512), (8, 2048, 256, 768)]
ROUNDS = 15
Arm = Callable[[int], torch.Tensor]


class Case:
    """Inputs and parameters of a shape: rows, bytes a row, bins, width."""

    def __init__(self, shape: tuple[int, int, int, int]) -> None:
        B, T, K, D = shape
        self.inputs = [torch.randint(256, (B, T), dtype=torch.uint8, device="cuda") for _ in "1234"]
        self.ids = [x.long() for x in self.inputs]

        def parameter(*size: int) -> torch.Tensor:
            return (torch.randn(size, device="cuda") / K**0.5).bfloat16().requires_grad_()

        self.table, self.weight, self.bias = parameter(256, D), parameter(D, K), parameter(D)
        self.kept: list[torch.Tensor] = []
        self.upstream = [torch.randn(B, T, D, device="cuda").bfloat16() for _ in "1234"]

    def lookup(self, i: int) -> torch.Tensor:
        return embedding(self.ids[i % 4], self.table)

    def from_bytes(self, i: int) -> torch.Tensor:
        return embedding(self.inputs[i % 4].long(), self.table)

    def fused(self, i: int) -> torch.Tensor:
        return byte_spectral_linear(
            self.inputs[i % 4], self.weight, self.bias, embedding=self.table
        )

    def gated(self, i: int) -> torch.Tensor:
        return byte_spectral_linear(
            self.inputs[i % 4], self.weight, self.bias, embedding=self.table, gated=True
        )

    def apart(self, i: int) -> torch.Tensor:
        x = self.inputs[i % 4]
        features = byte_spectral(
            x, K=self.weight.shape[1], precision="fast", dtype=self.weight.dtype
        )
        return embedding(x.long(), self.table) + linear(features, self.weight, self.bias)

    def exact(self) -> torch.Tensor:
        x, K = self.inputs[0][:2], self.weight.shape[1]
        table, weight, bias = (p.detach().double() for p in (self.table, self.weight, self.bias))
        return reference(x, K=K) @ weight.T + bias + table[x.long()]

    def there_and_back(self, arm: Arm, parameters: list[torch.Tensor]) -> Arm:
        def launch(i: int) -> torch.Tensor:
            out = arm(i)
            self.kept.append(out)  # alive until the end, as in a model
            return torch.autograd.grad(out, parameters, self.upstream[i % 4])[0]

        return launch


def timed(launches: dict[str, Arm], size: int) -> dict[str, Any]:
    """Microseconds of each, and the median of its ratio to the first over rounds."""
    graphs = {name: Graph(launch, size) for name, launch in launches.items()}
    wrong = [name for name, graph in graphs.items() if not graph.whole]
    assert not wrong, f"numbers that are not written: {wrong}"
    for _ in range(ROUNDS):
        for graph in graphs.values():
            graph.replay()
    torch.cuda.synchronize()
    us = {
        name: [1000 * a.elapsed_time(b) / graph.count for a, b in graph.marks]
        for name, graph in graphs.items()
    }
    first = next(iter(us.values()))
    return {
        name: {"us": statistics.median(each),
               "ratio": statistics.median(a / b for a, b in zip(each, first, strict=True))}
        for name, each in us.items()
    }  # fmt: skip


def eager(arm: Arm) -> float:
    """Microseconds of a call from Python, the host's time included."""
    times = []
    for i in range(30):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        arm(i)
        torch.cuda.synchronize()
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times)


def sorted_gradient(case: Case) -> Arm:
    """The gradient of the table as PyTorch makes it."""

    def launch(i: int) -> torch.Tensor:
        flat = case.upstream[i % 4].flatten(0, 1)
        ids = case.inputs[i % 4].flatten().long()
        return torch.ops.aten.embedding_dense_backward(flat, ids, 256, -1, False)

    return launch


def product_gradient(case: Case) -> Arm:
    def launch(i: int) -> torch.Tensor:
        return torch.ops.byte_spectral.table_backward(
            case.inputs[i % 4], case.upstream[i % 4].flatten(0, 1)
        )

    return launch


def measured(shape: tuple[int, int, int, int]) -> dict[str, Any]:
    case = Case(shape)
    B, T, _, D = shape
    arms = {"lookup": case.lookup, "lookup from bytes": case.from_bytes, "one kernel": case.fused,
            "gated": case.gated, "apart": case.apart}  # fmt: skip
    wanted = case.exact()
    errors = {
        name: float(((arms[name](0)[:2].double() - wanted).norm() / wanted.norm()).detach())
        for name in ("one kernel", "apart")
    }
    table, every = [case.table], [case.table, case.weight, case.bias]
    back = {name: case.there_and_back(arm, table if "lookup" in name else every)
            for name, arm in arms.items()}  # fmt: skip
    gradients = {"sorted": sorted_gradient(case), "product": product_gradient(case)}
    size = B * T * D * 2
    row: dict[str, Any] = {"shape": shape, "errors": errors}
    with torch.no_grad():
        row["forward"] = timed(arms, size)
        row["table gradient"] = timed(gradients, size)
    row["forward and backward"] = timed(back, size)
    row["eager"] = {name: eager(arm) for name, arm in arms.items()}
    row["eager, backward"] = {name: eager(arm) for name, arm in back.items()}
    return row


def main(out: Path) -> None:
    rows = []
    for shape in SHAPES:
        rows.append(measured(shape))
        print(json.dumps(rows[-1]), flush=True)
        (out / "front-end.json").write_text(by_line({
            "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "triton": triton.__version__, "rows": rows,
        }))  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("TRITON_CACHE_DIR", "/tmp/triton-grid")
    main(Path(sys.argv[1]))

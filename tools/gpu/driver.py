#!/usr/bin/env python3
"""Parts of `tools/gpu/driver.sh`: the driver in Python beside the compiled one on a GPU.

driver.py cost           launches in one process, both in turn; medians and ratios
driver.py first FOLDER   a new process until its first kernel has run
driver.py compare A B    outcomes of two runs of the same tests

`tests/gpu/test_driver.py` holds both to the same errors, hooks and results.
"""

from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def kernel({arguments}, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p0 + at, tl.load(p1 + at) + n0, mask=at < n1)
"""
SIZES = (4, 8, 20)
WAYS = ("compiled", "python")


def _kernel(count: int, folder: Path, name: str) -> Any:
    """A kernel of `count` arguments: half pointers, half integers."""
    half = count // 2
    names = [f"p{n}" for n in range(half)] + [f"n{n}" for n in range(count - half)]
    (folder / f"{name}.py").write_text(KERNEL.format(arguments=", ".join(names)))
    return importlib.import_module(name).kernel


def cost() -> None:
    import torch

    launchers = {name: Launchers(name) for name in WAYS}
    folder = Path(tempfile.mkdtemp())
    sys.path.insert(0, str(folder))
    for count in SIZES:
        tensors = [torch.zeros(1024, device="cuda") for _ in range(count // 2)]
        numbers = [3, 1000, *range(7, 7 + count - count // 2 - 2)]
        arguments = [*tensors, *numbers]
        kernels = {}
        for name in WAYS:
            kernels[name] = _kernel(count, folder, f"{name}_{count}")
            launchers[name].use()
            kernels[name][(1,)](*arguments, BLOCK=1024)
        torch.cuda.synchronize()
        if tensors[0][5].item() != numbers[0]:
            raise SystemExit("the kernel's result is wrong")
        _launches(count, kernels, arguments)
        _graphs(count, kernels, arguments)


class Launchers:
    """Makes Triton's driver launch as it was, or in Python, for the kernels of the next launch."""

    def __init__(self, name: str) -> None:
        import triton

        self._driver = triton.runtime.driver.active
        self._space = vars(importlib.import_module("triton.backends.nvidia.driver"))
        if name == "python":
            sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
            from tritonwin.driver import payload

            before = dict(self._space)
            said = payload.adopt(sys.modules["triton.backends.nvidia.driver"])
            if said:
                raise SystemExit(said)
            self._kept = dict(self._space)
            self._space.update(before)
        else:
            self._kept = dict(self._space)

    def use(self) -> None:
        self._space.update(self._kept)
        self._driver.launcher_cls = self._space["CudaLauncher"]


def _paired(measured: dict[str, Callable[[], float]], turns: int) -> list[list[float]]:
    """The figures of both ways, tried in turn."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for turn in range(turns):
        for name in sorted(WAYS, reverse=bool(turn % 2)):
            found[name].append(measured[name]())
    return [found[name] for name in WAYS]


def _time(call: Callable[[], object], repeat: int = 300) -> float:
    """Microseconds of a call, without waiting for the device."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    taken = time.perf_counter() - start
    torch.cuda.synchronize()
    return taken / repeat * 1e6


def _launches(count: int, kernels: dict[str, Any], arguments: list[Any]) -> None:
    def whole(kernel: Any) -> Callable[[], float]:
        return lambda: _time(lambda: kernel[(1,)](*arguments, BLOCK=1024))

    def alone(kernel: Any) -> Callable[[], float]:
        made = next(iter(kernel.device_caches[0][0].values()))
        about = (made.function, made.packed_metadata, None, None, None)
        return lambda: _time(lambda: made.run(1, 1, 1, 0, *about, *arguments, 1024))

    for what, way in (("kernel[grid](...)", whole), ("launcher alone", alone)):
        times = _paired({name: way(kernel) for name, kernel in kernels.items()}, 31)
        a, b = map(statistics.median, times)
        ratios = [y / x for x, y in zip(*times, strict=True)]
        print(f"{count:3} arguments, {what}: compiled {a:.2f} us, python {b:.2f} us, ratio of "
              f"medians {b / a:.3f}, of pairs {statistics.median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f})")  # fmt: skip


def _graphs(count: int, kernels: dict[str, Any], arguments: list[Any]) -> None:
    import torch

    def replayed(kernel: Any) -> Callable[[], float]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(50):
                kernel[(1,)](*arguments, BLOCK=1024)

        def microseconds() -> float:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(20):
                graph.replay()
            end.record()
            torch.cuda.synchronize()
            return float(start.elapsed_time(end)) / 20 / 50 * 1e3

        return microseconds

    times = _paired({name: replayed(kernel) for name, kernel in kernels.items()}, 21)
    a, b = map(statistics.median, times)
    print(f"{count:3} arguments, in a CUDA graph: compiled {a:.3f} us, python {b:.3f} us a kernel, "
          f"ratio {b / a:.3f}")  # fmt: skip


FIRST = """
import time
start = time.perf_counter()
import torch
import triton
import triton.language as tl
imported = time.perf_counter()
x = torch.zeros(1024, device="cuda")
torch.cuda.synchronize()
ready = time.perf_counter()
from first_kernel import kernel
kernel[(1,)](x, x, 3, 1000, BLOCK=1024)
torch.cuda.synchronize()
done = time.perf_counter()
assert x[5].item() == 3
print(done - ready, done - start)
"""


def first(on: str) -> None:
    """Seconds of the first launch (kernel compiled before or not), and of the whole process."""
    folder = Path(tempfile.mkdtemp())
    (folder / "first_kernel.py").write_text(KERNEL.format(arguments="p0, p1, n0, n1"))
    for warm in (False, True):
        seconds: dict[str, list[list[float]]] = {name: [] for name in WAYS}
        for turn in range(4):
            for name, taken in seconds.items():
                cache = folder / (f"cache-{name}" if warm else f"cache-{name}-{turn}")
                path = [str(folder), *([on] if name == "python" else [])]
                variables = {"TRITON_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(path)}
                if name == "python":
                    variables["CC"] = "false"
                done = subprocess.run(
                    [sys.executable, "-c", FIRST], env={**os.environ, **variables}, check=True,
                    stdout=subprocess.PIPE, text=True, timeout=60,
                )  # fmt: skip
                if not (warm and turn == 0):
                    taken.append([float(word) for word in done.stdout.split()])
        for place, what in ((0, "first launch"), (1, "whole process")):
            a, b = (statistics.median(t[place] for t in seconds[name]) for name in WAYS)
            state = "caches filled" if warm else "caches empty"
            print(f"{what}, {state}: compiled {a * 1e3:.0f} ms, python {b * 1e3:.0f} ms, "
                  f"ratio {b / a:.3f}")  # fmt: skip


def compare(compiled: str, python: str) -> None:
    """Tests that ended in both runs, and those that ended otherwise."""
    files = (Path(compiled), Path(python))
    lines = (file.read_text().splitlines() if file.exists() else [] for file in files)
    one, other = ({line.partition(" ")[2]: line.partition(" ")[0] for line in ls} for ls in lines)
    both = one.keys() & other.keys()
    counts = dict(Counter(one[test] for test in both))
    print(f"{len(one)} tests ended with the compiled module, {len(other)} with Python, "
          f"{len(both)} in both: {counts}")  # fmt: skip
    different = sorted(test for test in both if one[test] != other[test])
    print(f"{len(different)} differ")
    for test in different:
        print(f"  compiled {one[test]}, python {other[test]}: {test}")
    for name, run in (("compiled", one), ("python", other)):
        failed = sorted(test for test, outcome in run.items() if outcome == "failed")
        print(f"{len(failed)} failed with {name}: {failed[:12]}")


if __name__ == "__main__":
    parts: dict[str, Any] = {"cost": cost, "first": first, "compare": compare}
    parts[sys.argv[1]](*sys.argv[2:])

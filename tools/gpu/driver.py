#!/usr/bin/env python3
"""Parts of `tools/gpu/driver.sh`: the driver in Python beside the compiled one on a GPU.

driver.py cost                   launches in one process, both in turn; medians and ratios
driver.py first FOLDER           a new process until its first kernel has run
driver.py tutorials SITE OUT     the results of Triton's tutorials, bit by bit
driver.py many                   a million launches, threads, streams, errors
driver.py errors FOLDER          errors of NVIDIA's driver, a context that is lost, a process killed
driver.py hooks FOLDER           launch hooks, Proton, child processes
driver.py one-tutorial FILE OUT
driver.py compare A B            outcomes of two runs of the same tests
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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
CASES = Path(__file__).resolve().parent / "driver_cases"


def _kernel(count: int, folder: Path, name: str) -> Any:
    """A kernel of `count` arguments: half pointers, half integers."""
    half = count // 2
    names = [f"p{n}" for n in range(half)] + [f"n{n}" for n in range(count - half)]
    (folder / f"{name}.py").write_text(KERNEL.format(arguments=", ".join(names)))
    return importlib.import_module(name).kernel


def cost() -> None:
    import torch

    names = ("compiled", "python")
    launchers = {name: Launchers(name) for name in names}
    folder = Path(tempfile.mkdtemp())
    sys.path.insert(0, str(folder))
    for count in SIZES:
        tensors = [torch.zeros(1024, device="cuda") for _ in range(count // 2)]
        numbers = [3, 1000, *range(7, 7 + count - count // 2 - 2)]
        arguments = [*tensors, *numbers]
        kernels = {}
        for name in names:
            kernels[name] = _kernel(count, folder, f"{name}_{count}")
            with launchers[name]:
                kernels[name][(1,)](*arguments, BLOCK=1024)
        torch.cuda.synchronize()
        if tensors[0][5].item() != numbers[0]:
            raise SystemExit("the kernel's result is wrong")
        _launches(count, kernels, arguments)
        _graphs(count, kernels, arguments)


class Launchers:
    """Makes Triton's driver launch as it was, or in Python, for kernels that are made within."""

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

    def __enter__(self) -> None:
        self._space.update(self._kept)
        self._driver.launcher_cls = self._space["CudaLauncher"]

    def __exit__(self, *_: object) -> None:
        pass


def _time(call: Any, repeat: int = 300) -> float:
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    taken = time.perf_counter() - start
    torch.cuda.synchronize()
    return taken / repeat * 1e6


def _launches(count: int, kernels: dict[str, Any], arguments: list[Any]) -> None:
    whole: dict[str, list[float]] = {name: [] for name in kernels}
    alone: dict[str, list[float]] = {name: [] for name in kernels}
    for turn in range(31):
        for name in sorted(kernels, reverse=bool(turn % 2)):
            kernel = kernels[name]
            whole[name].append(_time(lambda kernel=kernel: kernel[(1,)](*arguments, BLOCK=1024)))
            made = next(iter(_compiled(kernel)))
            given = (
                1,
                1,
                1,
                0,
                made.function,
                made.packed_metadata,
                None,
                None,
                None,
                *arguments,
                1024,
            )
            run = made.run
            alone[name].append(_time(lambda run=run, given=given: run(*given)))
    for what, times in (("kernel[grid](...)", whole), ("launcher alone", alone)):
        a, b = statistics.median(times["compiled"]), statistics.median(times["python"])
        ratios = [y / x for x, y in zip(times["compiled"], times["python"], strict=True)]
        print(f"{count:3} arguments, {what}: compiled {a:.2f} us, python {b:.2f} us, ratio of "
              f"medians {b / a:.3f}, of pairs {statistics.median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f})")  # fmt: skip


def _compiled(kernel: Any) -> Any:
    return kernel.device_caches[0][0].values()


def _graphs(count: int, kernels: dict[str, Any], arguments: list[Any]) -> None:
    import torch

    graphs = {}
    for name, kernel in kernels.items():
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(50):
                kernel[(1,)](*arguments, BLOCK=1024)
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for turn in range(21):
        for name in sorted(graphs, reverse=bool(turn % 2)):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(20):
                graphs[name].replay()
            end.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(end) / 20 / 50 * 1e3)
    a, b = (statistics.median(times[name]) for name in ("compiled", "python"))
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
        seconds: dict[str, list[list[float]]] = {"compiled": [], "python": []}
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
            a, b = (
                statistics.median(t[place] for t in seconds[name])
                for name in ("compiled", "python")
            )
            state = "caches filled" if warm else "caches empty"
            print(f"{what}, {state}: compiled {a * 1e3:.0f} ms, python {b * 1e3:.0f} ms, "
                  f"ratio {b / a:.3f}")  # fmt: skip


def many() -> None:
    """A million launches without growth, threads, streams, and what is refused."""
    import torch

    folder = Path(tempfile.mkdtemp())
    sys.path.insert(0, str(folder))
    kernel = _kernel(4, folder, "many_kernel")
    x = torch.zeros(1024, device="cuda")
    kernel[(1,)](x, x, 1, 1000, BLOCK=1024)
    made = next(iter(_compiled(kernel)))
    print(f"launched by {type(made.run).__name__} {made.run.__name__}")
    torch.cuda.synchronize()
    free = torch.cuda.mem_get_info()[0]
    sizes, start = [], time.perf_counter()
    for turn in range(1000):
        if turn % 100 == 0:
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4)
        for _ in range(1000):
            kernel[(1,)](x, x, 1, 1000, BLOCK=1024)
        torch.cuda.synchronize()
    print(
        f"1,000,000 launches in {time.perf_counter() - start:.1f} s; "
        f"KiB of memory before each 100,000: {sizes}; "
        f"bytes of the device's memory taken meanwhile: {free - torch.cuda.mem_get_info()[0]}"
    )
    print(f"the sum is right: {x[5].item() == 1000001}")
    _threads(kernel)
    _refused("too large a grid", lambda: kernel[(1, 70000)](x, x, 1, 1000, BLOCK=1024))
    _refused("a CPU tensor", lambda: kernel[(1,)](x, torch.zeros(1024), 1, 1000, BLOCK=1024))
    _refused("text for a number", lambda: kernel[(1,)](x, x, 1, "text", BLOCK=1024))
    kernel[(0,)](x, x, 1, 1000, BLOCK=1024)
    torch.cuda.synchronize()
    print(f"an empty grid launches nothing: {x[5].item() == 1000001}")


def _refused(name: str, call: Any) -> None:
    try:
        call()
        print(f"{name}: no error")
    except Exception as error:  # noqa: BLE001 - shown
        print(f"{name}: {type(error).__name__}: {str(error)[:200]}")


def _threads(kernel: Any) -> None:
    import torch

    tensors = [torch.zeros(1024, device="cuda") for _ in range(8)]
    streams = [torch.cuda.Stream() for _ in tensors]
    torch.cuda.synchronize()

    def work(number: int) -> None:
        with torch.cuda.stream(streams[number]):
            for _ in range(2000):
                kernel[(1,)](tensors[number], tensors[number], 1, 1000, BLOCK=1024)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    torch.cuda.synchronize()
    sums = {each[7].item() for each in tensors}
    print(f"8 threads with streams of their own, 2,000 launches each: {sums}")


def _images(folder: Path) -> list[Path]:
    """Cubins of memory.ptx: a kernel that needs 17 GB at its launch, a module with 1 GB of data."""
    package = Path(importlib.import_module("triton").__file__ or "").parent
    made = []
    for name, space, size in (("deep", "local", 2**16), ("large", "global", 2**30)):
        text = (CASES / "memory.ptx").read_text().replace("NAME", name).replace("SPACE", space)
        for place in ("local", "global"):
            memory = f".{space} .align 16 .b8 memory[{size}];" if place == space else ""
            text = text.replace(place.upper(), memory)
        (folder / f"{name}.ptx").write_text(text)
        made.append(folder / f"{name}.cubin")
        subprocess.run(
            [package / "backends/nvidia/bin/ptxas", "-arch=sm_90", folder / f"{name}.ptx", "-o",
             made[-1]],
            check=True, timeout=60,
        )  # fmt: skip
    return made


class Cases:
    """Runs a program of driver_cases in both ways, and compares the lines that it prints."""

    def __init__(self, on: str) -> None:
        self._on, self.folder = on, Path(tempfile.mkdtemp())
        self.said: dict[str, list[str]] = {"compiled": [], "python": []}

    def environment(self, name: str) -> dict[str, str]:
        """Variables of a process that is "compiled" or "python"; the latter can compile nothing."""
        variables = {"TRITON_CACHE_DIR": str(self.folder / name)}
        if name == "python":
            variables.update(CC="false", PYTHONPATH=self._on)
        return {**os.environ, **variables}

    def run(self, program: str, *words: Any) -> None:
        for name, lines in self.said.items():
            done = subprocess.run(
                [sys.executable, CASES / f"{program}.py", *words], cwd=self.folder,
                env=self.environment(name), capture_output=True, text=True, timeout=100,
                check=False,
            )  # fmt: skip
            lines += [*done.stdout.splitlines(), f"{program} ended with {done.returncode}"]
            if done.returncode:
                print(done.stderr[-1500:], file=sys.stderr)

    def compare(self) -> None:
        pairs = list(zip(*self.said.values(), strict=False))
        for compiled, python in pairs:
            print(
                f"same       {python}"
                if compiled == python
                else f"compiled   {compiled}\npython     {python}"
            )
        print(f"{sum(a == b for a, b in pairs)} of {len(pairs)} lines are the same, "
              f"{[len(lines) for lines in self.said.values()]}")  # fmt: skip


def errors(on: str) -> None:
    """The same cases in both ways; then a process that is killed among launches, and a next one."""
    cases = Cases(on)
    cases.run("errors", "values")
    cases.run("errors", "memory", *_images(cases.folder))
    cases.run("errors", "lost")
    for name in cases.said:
        with subprocess.Popen(
            [sys.executable, CASES / "errors.py", "forever"], env=cases.environment(name),
            stdout=subprocess.PIPE,
        ) as running:  # fmt: skip
            for _, _ in zip(range(1000), running.stdout or (), strict=False):
                pass
            running.kill()
    cases.run("errors", "values")
    cases.compare()


def hooks(on: str) -> None:
    cases = Cases(on)
    cases.run("hooks")
    cases.compare()


# Triton's tutorials: what is computed after the file was loaded, and the tensors to compare
TUTORIALS = {
    "01-vector-add": ("", "[output_triton]"),
    "02-fused-softmax": ("", "[y_triton]"),
    "03-matrix-multiplication": ("", "[triton_output]"),
    "04-low-memory-dropout": (
        "found = [seeded_dropout(x, p=0.5, seed=n) for n in (123, 512)]", "[output, *found]"
    ),
    "05-layer-norm": (
        ("x = torch.randn(1151, 8192, device='cuda', dtype=torch.float16);"
        "w = torch.rand(8192, device='cuda', dtype=torch.float16);"
        "found = layer_norm(x, (8192,), w, w, 1e-5)"), "[found]",
    ),
    "06-fused-attention": (
        ("q, k, v = (torch.randn((1, 2, 1024, 64), device='cuda', dtype=torch.float16)"
        ".requires_grad_() for _ in range(3));"
        "found = attention(q, k, v, True, 0.5, False); found.sum().backward()"),
        "[found, q.grad, k.grad, v.grad]",
    ),
    "07-extern-functions": ("", "[output_triton]"),
    "08-grouped-gemm": ("", "[*tri_out, *tri_tma_out]"),
    "09-persistent-matmul": (
        ("a, b = (torch.randn((512, 512), device='cuda', dtype=torch.float16) for _ in range(2));"
        "found = [matmul(a, b.T), matmul_persistent(a, b.T), matmul_tma(a, b, False),"
        "matmul_tma_persistent(a, b, False), matmul_descriptor_persistent(a, b, False)]"), "found",
    ),
    "11-programmatic-dependent-launch": (
        "x = torch.rand(98432, device='cuda'); found = add(x, x)", "[found]"
    ),
}  # fmt: skip
MODES = ("compiled", "again", "python")


def tutorials(site: Path, out: Path) -> None:
    """Each tutorial compiled twice and in Python once, in ten processes at a time."""
    jobs = [(name, mode) for name in TUTORIALS for mode in MODES]
    with ThreadPoolExecutor(10) as pool:
        errors = dict(zip(jobs, pool.map(lambda job: _run(site, out, *job), jobs), strict=True))
    for name in TUTORIALS:
        wrong = [f"{mode}: {errors[name, mode]}" for mode in MODES if errors[name, mode]]
        if wrong:
            print(f"{name}: {'; '.join(wrong)}")
            continue
        found = {mode: (out / f"{name}.{mode}").read_text().split() for mode in MODES}
        for mode in MODES:
            (out / f"{name}.{mode}").unlink()
        once, again, python = found.values()
        steady = [n for n, digest in enumerate(once) if digest == again[n]]
        same = sum(once[n] == python[n] for n in steady)
        print(f"{name}: {len(once)} results; {len(steady)} have the same bits in both compiled "
              f"runs, {same} of these in Python too")  # fmt: skip


def _run(site: Path, out: Path, name: str, mode: str) -> str:
    """The last line of a tutorial that fails; "" for one that ends well."""
    path = str(site / "packages") + (f":{site / 'on'}" if mode == "python" else "")
    with tempfile.TemporaryDirectory() as folder:
        variables = {"PYTHONPATH": path, "TRITON_CACHE_DIR": folder}
        if mode == "python":
            variables["CC"] = "false"
        file = site / "python" / "tutorials" / f"{name}.py"
        done = subprocess.run(
            [sys.executable, __file__, "one-tutorial", str(file), str(out / f"{name}.{mode}")],
            env={**os.environ, **variables}, cwd=folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=100, check=False,
        )  # fmt: skip
    return done.stdout.strip().splitlines()[-1] if done.returncode else ""


def one_tutorial(file: Path, out: Path) -> None:
    """Run a tutorial without its benchmarks; digests of its results."""
    import torch
    import triton
    import triton.testing
    from triton.runtime.autotuner import Autotuner

    triton.testing.Mark.run = lambda *_, **__: None
    tune = Autotuner.__init__

    def first_configuration(
        self: Any, fn: Any, names: Any, configs: Any, *rest: Any, **more: Any
    ) -> None:
        tune(self, fn, names, configs, *rest, **more)
        self.configs = self.configs[:1]  # what is fastest may differ from run to run

    Autotuner.__init__ = first_configuration
    torch.manual_seed(0)
    triton.set_allocator(lambda size, *_: torch.empty(size, device="cuda", dtype=torch.int8))
    module = sys.modules["tutorial"] = type(sys)("tutorial")
    module.__file__ = str(file)
    code, results = TUTORIALS[file.stem]
    exec(compile(file.read_text(), str(file), "exec"), vars(module))  # noqa: S102 - Triton's own
    exec(code, vars(module))  # noqa: S102
    torch.cuda.synchronize()
    tensors = [t.detach().contiguous().view(torch.uint8) for t in eval(results, vars(module))]  # noqa: S307
    digests = [hashlib.sha256(each.cpu().numpy().tobytes()).hexdigest() for each in tensors]
    out.write_text("\n".join(digests))


def compare(compiled: Path, python: Path) -> None:
    """Tests that ended in both runs, and those that ended otherwise."""
    runs = []
    for file in (compiled, python):
        lines = file.read_text().splitlines() if file.exists() else []
        runs.append(dict(line.split(" ", 1)[::-1] for line in lines))
    both = runs[0].keys() & runs[1].keys()
    counts: dict[str, int] = {}
    for test in both:
        counts[runs[0][test]] = counts.get(runs[0][test], 0) + 1
    print(f"{len(runs[0])} tests ended with the compiled module, {len(runs[1])} with Python, "
          f"{len(both)} in both: {counts}")  # fmt: skip
    different = sorted(test for test in both if runs[0][test] != runs[1][test])
    print(f"{len(different)} differ")
    for test in different:
        print(f"  compiled {runs[0][test]}, python {runs[1][test]}: {test}")
    for name, run in zip(("compiled", "python"), runs, strict=True):
        failed = sorted(test for test, outcome in run.items() if outcome == "failed")
        print(f"{len(failed)} failed with {name}: {failed[:12]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    paths = [Path(word) for word in options.arguments]
    if options.part == "cost":
        cost()
    elif options.part == "many":
        many()
    elif options.part in ("errors", "hooks"):
        {"errors": errors, "hooks": hooks}[options.part](*options.arguments)
    elif options.part == "first":
        first(*options.arguments)
    elif options.part == "tutorials":
        tutorials(*paths)
    elif options.part == "one-tutorial":
        one_tutorial(*paths)
    else:
        compare(*paths)


if __name__ == "__main__":
    main()

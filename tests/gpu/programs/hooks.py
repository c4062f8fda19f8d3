#!/usr/bin/env python3
"""Launch hooks before and after, also ones that raise; threads; Proton; child processes."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import triton
from case_kernels import kernel

said: list[Any] = []


def tell(name: str, call: Any) -> None:
    try:
        print(f"{name}: {call()}", flush=True)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[:1]}", flush=True)


def launch(x: torch.Tensor, count: int = 1) -> Any:
    for _ in range(count):
        kernel[(1,)](x, x, 1, 1000, block=1024)
    torch.cuda.synchronize()
    return x[5].item()


def note(name: str) -> Any:
    def hook(metadata: Any) -> None:
        data = metadata.get()
        said.append((name, data["name"], data["stream"], sorted(data)))

    return hook


def fail(_: Any) -> None:
    raise KeyError("a hook")


def hooks(x: torch.Tensor) -> None:
    enter, leave = (
        triton.knobs.runtime.launch_enter_hook,
        triton.knobs.runtime.launch_exit_hook,
    )
    first, second, last = note("first"), note("second"), note("last")
    tell("no hook", lambda: launch(x))
    for chain, hook in ((enter, first), (enter, second), (leave, last)):
        chain.add(hook)
    tell("three hooks", lambda: launch(x))
    enter.remove(first)
    tell("two hooks", lambda: launch(x))
    for name, chain in (("before", enter), ("after", leave)):
        chain.add(fail)
        tell(f"a hook {name} the launch fails", lambda: launch(x))
        tell("the sum", lambda: x[5].item())
        chain.remove(fail)
    enter.remove(second)
    leave.remove(last)
    tell("no hook again", lambda: launch(x))
    kernel.add_pre_run_hook(lambda *args, **named: said.append((len(args), sorted(named))))
    tell("a hook of the kernel", lambda: launch(x))
    kernel.pre_run_hooks.clear()
    print(said)


def threads() -> None:
    parts = [torch.zeros(1024, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()

    def work(part: torch.Tensor) -> int:
        failed = 0
        for turn in range(200):
            try:
                kernel[(1, 70000 if turn % 5 == 0 else 1)](part, part, 1, 1000, block=1024)
            except RuntimeError:  # noqa: PERF203
                failed += 1
        return failed

    with ThreadPoolExecutor(8) as pool:
        failed = list(pool.map(work, parts))
    torch.cuda.synchronize()
    print("8 threads, every fifth launch fails:", failed, [part[3].item() for part in parts])


def proton(x: torch.Tensor) -> Any:
    import triton.profiler

    x.zero_()
    triton.profiler.start("profile", context="shadow", hook="triton")
    with triton.profiler.scope("ours"):
        launch(x, 7)
    triton.profiler.finalize()
    found = []

    def walk(node: Any, path: tuple[str, ...]) -> None:
        path = (*path, node["frame"]["name"])
        if node.get("metrics", {}).get("count"):
            found.append(("/".join(path), node["metrics"]["count"]))
        for each in node.get("children", ()):
            walk(each, path)

    walk(json.loads(Path("profile.hatchet").read_text())[0], ())
    return found, x[5].item()


def child() -> None:
    tell("in a child", lambda: launch(torch.zeros(1024, device="cuda")))


def main() -> None:
    x = torch.zeros(1024, device="cuda")
    hooks(x)
    threads()
    bench = triton.testing
    tell("do_bench", lambda: bench.do_bench(lambda: launch(x), warmup=1, rep=5) > 0)
    tell(
        "do_bench_cudagraph",
        lambda: bench.do_bench_cudagraph(lambda: kernel[(1,)](x, x, 1, 9, block=64), rep=5) > 0,
    )
    tell("Proton", lambda: proton(x))
    x.zero_()
    tell("after Proton", lambda: launch(x))
    for way in ("spawn", "fork"):
        multiprocessing.set_start_method(way, force=True)
        process = multiprocessing.Process(target=child)
        process.start()
        process.join()
        print(f"{way}: {process.exitcode}", flush=True)
    tell("after the children", lambda: launch(x))


if __name__ == "__main__":
    main()

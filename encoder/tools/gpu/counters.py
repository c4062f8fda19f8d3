#!/usr/bin/env python3
"""Hardware counters of the encoder's kernels: `python tools/gpu/counters.py OUT`.

Each case is launched until it is warm and then once under Nsight Compute, alone: what overlaps with
the launch before it in a stream does not overlap here, and the profiler empties the caches before.
Clocks are left as they are. Writes counters.json, the file that tools/fill_page.py reads
from benchmarks/results/, and the profiler's own table. Takes about half a minute.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from bench_parts import counters

SECONDS = 55


def cases():
    """Name -> (how to warm up and prepare, what is profiled); the second is given the first's result."""
    import torch
    from bench_parts.baselines import lookup
    from bench_parts.store import store_only

    import byte_spectral

    shape = (32, 1024, 256)
    x = torch.randint(256, shape[:2], dtype=torch.uint8, device="cuda")
    weight = torch.randn(256, 256, device="cuda", dtype=torch.bfloat16) / 16
    ids = x.flatten().int()

    def encode(W, precision, dtype):
        o = {"W": W, "K": 256, "precision": precision, "dtype": dtype}
        return None, lambda _: byte_spectral.byte_spectral(x, **o)

    def forward():
        from byte_spectral.spec import make_spec
        from byte_spectral.taps import dft_taps

        taps = dft_taps(make_spec(64, 256, None, "mag", True)).float().cuda().requires_grad_()
        out = byte_spectral.byte_spectral_taps(x, taps)
        return out, taps, torch.randn_like(out)

    def backward(found):
        out, taps, up = found
        return torch.autograd.grad(out, taps, up, retain_graph=True)

    found = {
        "store only, fp32": (None, lambda _: store_only(shape, torch.float32, 4096, 8, False)(0)),
        "store only, bf16": (None, lambda _: store_only(shape, torch.bfloat16, 4096, 4, False)(0)),
    }
    for W in (64, 128, 1024):
        found[f"exact fp32, W={W}"] = encode(W, "exact", torch.float32)
        found[f"fast fp32, W={W}"] = encode(W, "fast", torch.float32)
        found[f"fast bf16, W={W}"] = encode(W, "fast", torch.bfloat16)
    found["fused Linear"] = (None, lambda _: byte_spectral.byte_spectral_linear(x, weight))
    found["embedding lookup"] = (None, lambda _: lookup(weight, ids))
    found["backward of taps"] = (forward, backward)
    return found


def child(names: Path) -> None:
    import torch

    profiler = torch.cuda.cudart()
    done = []
    for name, (prepare, launch) in cases().items():
        ready = prepare() if prepare else None
        for _ in range(3):
            launch(ready)
        torch.cuda.synchronize()
        profiler.cudaProfilerStart()
        torch.cuda._sleep(1)
        launch(ready)
        torch.cuda.synchronize()
        profiler.cudaProfilerStop()
        done.append(name)
        names.write_text(json.dumps(done))
    versions = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    import triton

    names.with_suffix(".about").write_text(json.dumps(versions | {"triton": triton.__version__}))


def profiler() -> str | None:
    known = sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"))
    return shutil.which("ncu") or (str(known[-1]) if known else None)


def profiled(ncu: str, out: Path, metrics: tuple[str, ...]) -> str:
    """The profiler's log of the child; "" if it took too long."""
    log = out / "ncu.csv"
    command = [
        ncu, "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page", "raw",
        "--print-units", "base", "--log-file", str(log),
        *(word for each in counters.SECTIONS for word in ("--section", each)),
        *(["--metrics", ",".join(metrics)] if metrics else []),
        sys.executable, str(Path(__file__).resolve()), "--child", str(out / "cases.names"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=os.environ | {"OMP_NUM_THREADS": "2"},
                               start_new_session=True)  # fmt: skip
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the profiler and what it profiles
        said = f"{process.communicate()[0]}\nended after {SECONDS} s"
    (out / "ncu.said").write_text(said[-8000:])
    return log.read_text(errors="replace") if log.is_file() else ""


def main() -> int:
    if sys.argv[1] == "--child":
        child(Path(sys.argv[2]))
        return 0
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    ncu = profiler()
    if ncu is None:
        print("ncu is not here: the counters need Nsight Compute")
        return 2
    for metrics in (counters.METRICS, ()):
        log = profiled(ncu, out, metrics)
        with gzip.open(out / "ncu.csv.gz", "wt") as kept:
            kept.write(log)
        try:
            names = json.loads((out / "cases.names").read_text())
            kernels = counters.by_case(names, counters.rows(log))
            break
        except (OSError, ValueError) as error:
            print(f"the counters could not be read: {error}")
    else:
        return 1
    about = json.loads((out / "cases.about").read_text())
    made = {"schema": counters.SCHEMA, "when": f"{datetime.now(timezone.utc):%Y-%m-%d}", **about,
            "shape": [32, 1024, 256], "kernels": kernels}  # fmt: skip
    from bench_parts.record import by_line

    (out / "counters.json").write_text(by_line(made))
    for each in kernels:
        print(each)
    return 0


if __name__ == "__main__":
    sys.exit(main())

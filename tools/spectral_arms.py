"""Many runs of the byte model, one after the other or several at a time on one GPU."""

from __future__ import annotations

import json
import math
import multiprocessing
import statistics
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from spectral_corpus import Corpus

from tritonwin.spectral.front_ends import ARMS
from tritonwin.spectral.model import ByteModel, LeakWarning, future_leak
from tritonwin.spectral.score import evaluate, unigram_entropy
from tritonwin.spectral.train import Run, Settings, TooLate, Workers

SCHEMA = "tritonwin.spectral-arms/1"
Result = dict[str, Any]


def one(settings: Settings, texts: Corpus, device: str, deadline: float = math.inf) -> Result:
    """Train and judge one arm."""
    begin = time.monotonic()
    workers = Workers(device=torch.device(device))
    text, held_out = (
        torch.frombuffer(bytearray(each), dtype=torch.uint8).to(device)
        for each in (texts.train, texts.held_out)
    )
    run = Run(settings, text, workers=workers)
    model = run.train(deadline=deadline)
    score = evaluate(model, held_out)
    if not math.isfinite(score.all):
        msg = f"{settings.arm} (seed {settings.seed}) ended at {score.all} bits a byte"
        raise ArithmeticError(msg)
    return {
        "arm": settings.arm,
        "words": ARMS[settings.arm].words,
        "seed": settings.seed,
        "rate": settings.rate,
        "all": score.all,
        "last": score.last,
        "leak": future_leak(model),
        "front_parameters": model.parameters_of_front(),
        "seconds": time.monotonic() - begin,
    }


def many(
    wanted: list[Settings], texts: Corpus, device: str, out: Path, *,
    processes: int = 1, seconds: float = math.inf,
) -> int:  # fmt: skip
    """Run all of `wanted`, keeping `out` up to date; what does not fit in `seconds` is named.

    Returns:
        0, or 1 if something was not run.
    """
    end = time.monotonic() + seconds
    name = torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"
    front = front_times(wanted[0], texts, device, [s.arm for s in wanted])
    print(f"{name}: {len(wanted)} runs of {wanted[0].steps} steps, {processes} at a time",
          flush=True)  # fmt: skip
    results: list[Result] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_prepare,
                             initargs=(texts, device, processes)) as pool:  # fmt: skip
        jobs = {pool.submit(_job, each, end): each for each in wanted}
        for job in as_completed(jobs):
            try:
                results.append(job.result())
            except TooLate:
                continue
            except Exception:  # noqa: BLE001 - the other runs are worth their time
                print(f"{jobs[job].arm} (seed {jobs[job].seed}) failed", flush=True)
                traceback.print_exc()
                continue
            results[-1]["front_us"] = front.get(results[-1]["arm"])
            write(out, results, texts, name, asdict(wanted[0]))
            print(line(results[-1]), flush=True)
    done = {(each["arm"], each["seed"]) for each in results}
    missing = [f"{s.arm} (seed {s.seed})" for s in wanted if (s.arm, s.seed) not in done]
    if missing:
        print(f"not run, or not to the end: {', '.join(missing)}", flush=True)
    return 1 if missing else 0


def line(result: Result) -> str:
    numbers = f"all {result['all']:.3f}  last {result['last']:.3f}  leak {result['leak']:.2g}"
    return f"{result['arm']:16} seed {result['seed']}  {numbers}  {result['seconds']:.1f} s"


def write(out: Path, results: list[Result], texts: Corpus, device: str,
          settings: dict[str, Any] | None = None) -> None:  # fmt: skip
    """Everything so far, whole or not at all."""
    document = {
        "schema": SCHEMA,
        "device": device,
        "torch": torch.__version__,
        "unigram": unigram_entropy(texts.held_out),
        "held_out_bytes": len(texts.held_out),
        "settings": {k: v for k, v in (settings or {}).items() if k not in {"arm", "seed"}},
        "results": sorted(results, key=lambda r: (list(ARMS).index(r["arm"]), r["seed"])),
    }
    new = out.with_suffix(".new")
    new.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    new.replace(out)


def front_times(settings: Settings, texts: Corpus, device: str, arms: Iterable[str],
                repeats: int = 30) -> dict[str, float]:  # fmt: skip
    """Microseconds of each front end's forward pass on one batch, by CUDA events; {} on a CPU."""
    if not device.startswith("cuda"):
        return {}
    rows, context = settings.batch, settings.shape.context
    batch = torch.frombuffer(bytearray(texts.train[: rows * context]), dtype=torch.uint8)
    batch = batch.view(rows, context).to(device)
    found = {}
    for arm in dict.fromkeys(arms):
        model = ByteModel(arm, settings.shape).to(device)
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
            found[arm] = _median_us(partial(model.front, batch), repeats)
    return found


def _median_us(call: Callable[[], object], repeats: int) -> float:
    for _ in range(3):
        call()
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    for begin, end in marks:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return 1000 * statistics.median(begin.elapsed_time(end) for begin, end in marks)


_shared: dict[str, Any] = {}


def _prepare(texts: Corpus, device: str, processes: int) -> None:
    """In each worker, once; the workers share one machine's cores."""
    warnings.simplefilter("ignore", LeakWarning)
    torch.set_num_threads(1 if processes > 1 else torch.get_num_threads())
    _shared.update(texts=texts, device=device)


def _job(settings: Settings, end: float) -> Result:
    if time.monotonic() > end:
        raise TooLate
    return one(settings, _shared["texts"], _shared["device"], end)

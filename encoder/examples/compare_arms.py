"""Many runs of the byte model, one after the other or several at a time on one GPU."""

from __future__ import annotations

import json
import math
import multiprocessing
import time
import traceback
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from bench_parts.clock import Clock
from byte_model import ByteModel, LeakWarning, future_leak
from corpus import Corpus
from front_ends import ARMS
from score import evaluate, unigram_entropy
from torch import Tensor, nn
from train import Run, Settings, TooLate, Workers

SCHEMA = "byte-spectral.arms/2"
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
        raise ArithmeticError(
            f"{settings.arm} (seed {settings.seed}) ended at {score.all} bits a byte"
        )
    return {
        "arm": settings.arm,
        "words": ARMS[settings.arm].words,
        "seed": settings.seed,
        "device": device_name(workers.device),
        "torch": torch.__version__,
        "rate": settings.rate,
        "all": score.all,
        "last": score.last,
        "leak": future_leak(model),
        "front_parameters": model.parameters_of_front(),
        "seconds": time.monotonic() - begin,
    }


def many(
    wanted: list[Settings],
    texts: Corpus,
    devices: list[str],
    out: Path,
    *,
    processes: int = 1,
    seconds: float = math.inf,
) -> int:
    """Run those of `wanted` that `out` does not hold yet, and keep it up to date.

    What was run on another card stays: bits a byte do not depend on it beyond noise. The times of
    the front ends do, and are those of the card that has some already.

    Args:
        devices: as torch names them; each has `processes` runs at a time.
        seconds: what does not fit is named.

    Returns:
        0, or 1 if something was not run.
    """
    end = time.monotonic() + seconds
    kept = Kept.read(out, wanted[0], texts)
    missing = [each for each in wanted if not kept.has(each)]
    card = device_name(torch.device(devices[0]))
    if kept.front.get("device", card) == card:
        times = front_times(wanted[0], texts, devices[0], [s.arm for s in wanted])
        if times:
            kept.front = {"device": card, "us": kept.front.get("us", {}) | times}
    count = processes * len(devices)
    print(f"{card}: {len(missing)} of {len(wanted)} runs of {wanted[0].steps} steps, "
          f"{count} at a time", flush=True)  # fmt: skip
    context = multiprocessing.get_context("spawn")
    places = context.Queue()
    for place in devices * processes:
        places.put(place)
    with ProcessPoolExecutor(
        count, mp_context=context, initializer=_prepare, initargs=(texts, places, count)
    ) as pool:
        jobs = {pool.submit(_job, each, end): each for each in missing}
        for job in as_completed(jobs):
            settings = jobs[job]
            try:
                kept.add(job.result())
            except TooLate:
                continue
            except Exception:  # noqa: BLE001 - the other runs are worth their time
                print(f"{settings.arm} (seed {settings.seed}) failed", flush=True)
                traceback.print_exc()
                continue
            kept.write()
            print(line(kept.results[-1]), flush=True)
    missing = [each for each in wanted if not kept.has(each)]
    kept.write()
    if missing:
        names = ", ".join(f"{s.arm} (seed {s.seed})" for s in missing)
        print(f"not run, or not to the end: {names}", flush=True)
    return 1 if missing else 0


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def line(result: Result) -> str:
    numbers = f"all {result['all']:.3f}  last {result['last']:.3f}  leak {result['leak']:.2g}"
    return f"{result['arm']:16} seed {result['seed']}  {numbers}  {result['seconds']:.1f} s"


@dataclass(kw_only=True)
class Kept:
    """Everything so far, in a file."""

    out: Path
    settings: dict[str, Any]
    texts: Corpus
    results: list[Result] = field(default_factory=list)
    front: dict[str, Any] = field(default_factory=dict)  # "device", and "us" by arm

    @staticmethod
    def read(out: Path, settings: Settings, texts: Corpus) -> Kept:
        """The runs of the file with these settings, on any card.

        Raises:
            ValueError: it holds something else, which would be lost.
        """
        common = {k: v for k, v in asdict(settings).items() if k not in {"arm", "seed"}}
        kept = Kept(out=out, settings=common, texts=texts)
        if out.is_file():
            before = _document(out)
            if (before.get("schema"), before.get("settings")) != (SCHEMA, common):
                raise ValueError(
                    f"{out} was not written by runs with these settings: name another file"
                )
            kept.results, kept.front = before["results"], before["front"]
        return kept

    def has(self, settings: Settings) -> bool:
        return any((r["arm"], r["seed"]) == (settings.arm, settings.seed) for r in self.results)

    def add(self, result: Result) -> None:
        self.results.append(result)

    def write(self) -> None:
        """Write the file atomically."""
        document = {
            "schema": SCHEMA,
            "unigram": unigram_entropy(self.texts.held_out),
            "held_out_bytes": len(self.texts.held_out),
            "settings": self.settings,
            "front": self.front,
            "results": sorted(self.results, key=lambda r: (list(ARMS).index(r["arm"]), r["seed"])),
        }
        new = self.out.with_name(f"{self.out.name}.new")
        new.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        new.replace(self.out)


def _document(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def front_times(
    settings: Settings, texts: Corpus, device: str, arms: Iterable[str]
) -> dict[str, float]:
    """Microseconds of each front end's forward pass on one batch, in a CUDA graph; {} on a CPU."""
    if not device.startswith("cuda"):
        return {}
    rows, context = settings.batch, settings.shape.context
    batch = torch.frombuffer(bytearray(texts.train[: rows * context]), dtype=torch.uint8)
    batch = batch.view(rows, context).to(device)
    clock = Clock(device=torch.device(device))
    size = rows * context * settings.shape.width * 4
    found = {}
    for arm in dict.fromkeys(arms):
        front = ByteModel(arm, settings.shape).front.to(device)
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
            found[arm] = clock.busy(partial(_front, front, batch), size).us
    return found


def _front(front: nn.Module, batch: Tensor, launch: int) -> Tensor:
    del launch  # the input is small, and read by every launch alike
    return front(batch)


_shared: dict[str, Any] = {}


def _prepare(texts: Corpus, places: multiprocessing.Queue[str], count: int) -> None:
    """In each worker, once; the workers share one machine's cores."""
    warnings.simplefilter("ignore", LeakWarning)
    torch.set_num_threads(1 if count > 1 else torch.get_num_threads())
    device = places.get(timeout=60)
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    _shared.update(texts=texts, device=device)


def _job(settings: Settings, end: float) -> Result:
    if time.monotonic() > end:
        raise TooLate
    return one(settings, _shared["texts"], _shared["device"], end)

"""Arms of the byte model on one device, at equal sizes and at equal time.

Each arm has a process of its own, which compiles its model once. All compile side by side; then
each times a step with the device to itself; then some train at a time.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Container
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from byte_model import ByteModel, LeakWarning, Shape, future_leak
from corpus import Corpus
from front_ends import ARMS
from replay import WARM
from score import evaluate, unigram_entropy
from torch import Tensor
from train import Run, Settings

SCHEMA = "byte-spectral.arms/3"
LARGEST = "one-kernel+conv8+ngrams"  # models of equal size are as large as with this front end
TIMED = 20  # steps of which the time is taken, five times
LONGER = 1.5
AT_ONCE = 3  # runs; one waits for the host while others use the device
OWN = {"arm", "seed", "steps", "compiled"}  # settings that results may differ in
Result = dict[str, Any]
_worker: Worker  # of this process
# "body": the same transformer behind each front end, and the same steps. "parameters": so many
# hidden units that all models are equally large, and the same steps. "time": such models, and as
# many steps as fit into the time of LONGER times the first arm's steps.
Equal = Literal["body", "parameters", "time"]
EQUAL: tuple[Equal, ...] = get_args(Equal)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One run: what is equal, on which text, with which seed."""

    equal: Equal
    text: str
    seed: int


def equal_size(arm: str, shape: Shape) -> Shape:
    """The shape with which a model of the arm is as large as with the largest front end.

    Hidden units come in halves of the width, which suit the tiles of matrix products; the first
    layers get one more than the last. An arm that is larger by itself stays as it is.
    """
    missing = front_size(LARGEST, shape) - front_size(arm, shape)
    step = shape.width // 2
    count = max(0, round(missing / ((2 * shape.width + 1) * step)))
    hidden = tuple(
        units + step * len(range(layer, count, shape.layers))
        for layer, units in enumerate(shape.hidden)
    )
    return replace(shape, hidden=hidden)


def front_size(arm: str, shape: Shape) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return ByteModel(arm, replace(shape, layers=1, hidden=())).parameters_of_front()


def one(settings: Settings, texts: Corpus, wanted: Wanted, device: str) -> Result:
    """Train and judge one arm."""
    begin = time.monotonic()
    model = Run(settings, as_tensor(texts.train, device)).train()
    held_out = as_tensor(texts.held_out, device)
    score = evaluate(model, held_out)
    if not math.isfinite(score.all):
        raise ArithmeticError(
            f"{settings.arm} (seed {settings.seed}) ended at {score.all} bits a byte"
        )
    other = ARMS[settings.arm].apart
    steps_apart = {}
    if other is not None:
        twin = ByteModel(other, settings.shape).to(device)
        twin.load_state_dict(model.state_dict())
        steps_apart = {"apart": round(evaluate(twin, held_out).all, 6)}
    return {
        "arm": settings.arm,
        **asdict(wanted),
        "steps": settings.steps,
        "all": round(score.all, 6),
        **steps_apart,
        "last": round(score.last, 6),
        "leak": future_leak(model),
        "front_parameters": model.parameters_of_front(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "device": device_name(torch.device(device)),
        "torch": torch.__version__,
        "seconds": round(time.monotonic() - begin, 1),
    }


def many(
    arms: list[str],
    wanted: list[Wanted],
    settings: Settings,
    texts: dict[str, Corpus],
    device: str,
    out: Path,
    *,
    seconds: float = math.inf,
    untimed: Container[str] = (),
) -> int:
    """Run what `out` does not hold yet, and keep it up to date.

    Args:
        wanted: for each arm, in this order. Equal time is that of the first arm.
        settings: of the first arm, apart from the seed.
        seconds: what does not fit is named.
        untimed: arms that are not run at equal time.

    Returns:
        0, or 1 if something was not run.
    """
    end = time.monotonic() + seconds
    kept = Kept.read(out, settings, texts)
    every = [
        (arm, each)
        for each in wanted
        for arm in arms
        if not (each.equal == "time" and arm in untimed)
    ]
    jobs = deque(job for job in every if not kept.has(*job))
    print(f"{device_name(torch.device(device))}: {len(jobs)} runs", flush=True)
    with Workers(settings, arms if jobs else [], texts, device) as workers:
        sized = {each.equal for _, each in jobs} - {"body"}
        micros = workers.micros() if sized else {}
        running: dict[Future[Result], str] = {}
        while running or jobs:
            while jobs and len(running) < AT_ONCE and time.monotonic() < end:
                arm, each = jobs.popleft()
                steps = settings.steps
                if each.equal == "time":
                    if not {arm, arms[0]} <= micros.keys():
                        continue
                    steps = round(LONGER * steps * micros[arms[0]] / micros[arm])
                running[workers.submit(arm, _run, each, steps)] = arm
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                arm = running.pop(future)
                result = answer(arm, future)
                if result is not None:
                    kept.results.append({**result, "us_a_step": micros.get(arm)})
                    kept.write()
                    print(line(result), flush=True)
    late = [job for job in every if not kept.has(*job)]
    kept.write()
    if late:
        names = ", ".join(f"{arm} ({w.equal}, {w.text}, seed {w.seed})" for arm, w in late)
        print(f"not run, or not to the end: {names}", flush=True)
    return 1 if late else 0


def answer(arm: str, future: Future[Any]) -> Any:
    """The result of a worker; None where it failed, which is said."""
    if error := future.exception():
        print(f"{arm} failed: {''.join(traceback.format_exception(error))}", flush=True)
        return None
    return future.result()


class Workers:
    """A process for each arm."""

    def __init__(
        self, settings: Settings, arms: list[str], texts: dict[str, Corpus], device: str
    ) -> None:
        self.pools = {
            arm: ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn"), _begin,
                (replace(settings, arm=arm), texts, device, len(arms)),
            )
            for arm in arms
        }  # fmt: skip

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self.pools.values():
            pool.shutdown()

    def submit(self, arm: str, function: Callable[..., Any], *given: Any) -> Future[Any]:
        try:
            return self.pools[arm].submit(function, *given)
        except BrokenExecutor as error:  # its process died
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def micros(self) -> dict[str, float]:
        """Microseconds a step of each arm; nothing else runs meanwhile."""
        compiled = {arm: self.submit(arm, _compile) for arm in self.pools}
        for arm, future in compiled.items():
            answer(arm, future)
        times = {arm: answer(arm, self.submit(arm, _time)) for arm in self.pools}
        found = {arm: micros for arm, micros in times.items() if micros is not None}
        print(json.dumps(found), flush=True)
        return found


@dataclass(kw_only=True)
class Worker:
    """The state that the process of an arm keeps."""

    settings: Settings
    texts: dict[str, Corpus]
    device: str
    run: Run | None = None

    @cached_property
    def sized(self) -> Settings:
        """Of a model as large as the largest."""
        return replace(self.settings, shape=equal_size(self.settings.arm, self.settings.shape))


def _begin(settings: Settings, texts: dict[str, Corpus], device: str, processes: int) -> None:
    global _worker
    warnings.simplefilter("ignore", LeakWarning)
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // processes))
    _worker = Worker(settings=settings, texts=texts, device=device)


def _compile() -> None:
    text = as_tensor(next(iter(_worker.texts.values())).train, _worker.device)
    _worker.run = Run(replace(_worker.sized, steps=WARM + 1 + 5 * TIMED), text)
    for _ in range(WARM + 1):  # the last one captures a graph
        _worker.run.advance()


def _time() -> float | None:
    run, _worker.run = _worker.run, None
    return None if run is None else round(1e6 * run.seconds_a_step(TIMED), 1)


def _run(wanted: Wanted, steps: int) -> Result:
    used = _worker.settings if wanted.equal == "body" else _worker.sized
    used = replace(used, seed=wanted.seed, steps=steps)
    return one(used, _worker.texts[wanted.text], wanted, _worker.device)


def as_tensor(text: bytes, device: str = "cpu") -> Tensor:
    return torch.frombuffer(bytearray(text), dtype=torch.uint8).to(device)


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def line(result: Result) -> str:
    numbers = f"all {result['all']:.3f}  last {result['last']:.3f}  leak {result['leak']:.2g}"
    what = f"{result['equal']:10} {result['text']:11} seed {result['seed']}"
    return f"{result['arm']:24} {what}  {numbers}  {result['seconds']:.1f} s"


@dataclass(kw_only=True)
class Kept:
    """Everything so far, in a file."""

    out: Path
    settings: dict[str, Any]
    unigram: dict[str, float]
    results: list[Result] = field(default_factory=list)

    @staticmethod
    def read(out: Path, settings: Settings, texts: dict[str, Corpus]) -> Kept:
        """The runs of the file with these settings, on any card.

        Raises:
            ValueError: it holds something else, which would be lost.
        """
        common = {k: v for k, v in asdict(settings).items() if k not in OWN}
        common = json.loads(json.dumps(common))  # lists for tuples
        unigram = {name: round(unigram_entropy(text.held_out), 6) for name, text in texts.items()}
        kept = Kept(out=out, settings=common, unigram=unigram)
        if out.is_file():
            try:
                before = json.loads(out.read_text(encoding="utf-8"))
                fits = (before["schema"], before["settings"]) == (SCHEMA, common)
            except (ValueError, TypeError, KeyError):
                fits = False
            if not fits:
                raise ValueError(
                    f"{out} was not written by runs with these settings: name another file"
                )
            kept.results = before["results"]
            kept.unigram = before["unigram"] | unigram
        return kept

    def has(self, arm: str, wanted: Wanted) -> bool:
        run = {"arm": arm, **asdict(wanted)}
        return any(run.items() <= each.items() for each in self.results)

    def write(self) -> None:
        """Write the file whole or not at all; a run is a line."""
        order = list(ARMS)
        self.results.sort(
            key=lambda r: (EQUAL.index(r["equal"]), r["text"], order.index(r["arm"]), r["seed"])
        )
        head = {
            "schema": SCHEMA,
            "unigram": self.unigram,
            "settings": self.settings,
            "words": {arm: ARMS[arm].words for arm in order},
        }
        lines = ",\n".join(f"  {json.dumps(each)}" for each in self.results)
        text = f'{json.dumps(head, indent=1)[:-2]},\n "results": [\n{lines}\n ]\n}}\n'
        new = self.out.with_name(f"{self.out.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(self.out)

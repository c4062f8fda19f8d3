#!/usr/bin/env python3
"""Throw damaged and made-up input at the readers of tests/fuzz/targets.py, and count the tries.

    python tools/fuzz.py TARGET|all [--runs N] [--seconds S] [--seed N] [--found DIR] [--plain]

With atheris (dependency group "fuzz", Linux) coverage guides the tries; without it, or with
--plain, seeds are changed at random, in another order for every --seed. Each target ends after N
executions or S seconds. An input that shows a defect is kept below DIR, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
IMPORTED = [ROOT / "tests" / "fuzz", ROOT / "tests", ROOT / "tools", ROOT / "src"]
HANG = 20  # seconds after which an execution counts as a hang
LONGEST = 8192  # bytes of an input


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of fuzzing one target; `defect` is None if nothing went wrong."""

    executions: int
    seconds: float
    defect: str | None = None


def plain(
    target: Callable[[bytes], None],
    seeds: Sequence[bytes],
    *,
    runs: int,
    seconds: float,
    found: Path,
    seed: int = 0,
) -> Result:
    """Change seeds at random, in the same order for the same `seed`, and try each."""
    mutation = importlib.import_module("mutation")
    gc.freeze()  # pefile collects garbage for every damaged file
    random = Random(seed)  # noqa: S311 - repeatable on purpose
    start = time.monotonic()
    for done in range(runs):
        if time.monotonic() - start > seconds:
            return Result(executions=done, seconds=time.monotonic() - start)
        data = random.choice(seeds) if seeds else b""
        data = mutation.spliced(data, mutation.random_splices(random, seeds or [b""]))[:LONGEST]
        try:
            with _limit():
                target(data)
        except Exception:  # noqa: BLE001 - any of them is what is looked for
            _keep(found, data)
            spent = time.monotonic() - start
            return Result(executions=done + 1, seconds=spent, defect=traceback.format_exc())
    return Result(executions=runs, seconds=time.monotonic() - start)


@contextmanager
def _limit() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    signal.signal(signal.SIGALRM, _hangs)
    signal.setitimer(signal.ITIMER_REAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _hangs(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise TimeoutError(f"no end after {HANG} s")


def _keep(found: Path, data: bytes) -> None:
    found.mkdir(parents=True, exist_ok=True)
    (found / f"crash-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)


def guided(name: str, *, runs: int, seconds: float, found: Path, seed: int) -> Result:
    """Let libFuzzer do it, in a process of its own, since it ends the one it runs in."""
    found.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tritonwin-fuzz-") as scratch:
        corpus = Path(scratch, "corpus")
        corpus.mkdir()
        words = Path(scratch, "words")
        words.write_text(_dictionary(importlib.import_module("mutation").WORDS), encoding="ascii")
        flags = [
            f"-runs={runs}",
            f"-seed={seed + 1}",  # 0 means any
            f"-dict={words}",
            *([f"-max_total_time={int(seconds)}"] if seconds < float("inf") else []),
            f"-timeout={HANG}",
            f"-max_len={LONGEST}",
            f"-artifact_prefix={found}{os.sep}",
        ]
        folders = [str(corpus), str(ROOT / "tests" / "fuzz" / "seeds" / name)]
        done = subprocess.run(
            [sys.executable, __file__, name, "--inside", *flags, *folders],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            env={**os.environ, "TMPDIR": scratch},
        )
    text = done.stdout.decode("utf-8", "replace")
    counted = re.findall(r"^Done (\d+) runs|^#(\d+)\t", text, re.MULTILINE)
    executions = max((int(a or b) for a, b in counted), default=0)
    spent = time.monotonic() - start
    return Result(
        executions=executions, seconds=spent, defect=text[-6000:] if done.returncode else None
    )


def _dictionary(words: Iterable[bytes]) -> str:
    """Words as libFuzzer reads them."""
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in words)


def _inside(name: str, flags: Sequence[str]) -> None:
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["tritonwin", "pefile", "packaging"]):
        target = importlib.import_module("targets").TARGETS[name]
    gc.freeze()
    atheris.Setup([sys.argv[0], *flags], target)
    atheris.Fuzz()


def main(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("target")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--found", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inside", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked = parser.parse_args(args)
    sys.path[:0] = [str(folder) for folder in IMPORTED]
    if asked.inside:
        _inside(asked.target, asked.inside)
    targets = importlib.import_module("targets")
    names = list(targets.TARGETS) if asked.target == "all" else [asked.target]
    if unknown := set(names) - set(targets.TARGETS):
        parser.error(f"no target {min(unknown)}; there are {', '.join(targets.TARGETS)}")
    guide = not asked.plain and importlib.util.find_spec("atheris") is not None
    how, failed = "atheris" if guide else "plain", False
    for name in names:
        found: Path = asked.found / name
        limits = {"runs": asked.runs, "seconds": asked.seconds, "found": found, "seed": asked.seed}
        if guide:
            result = guided(name, **limits)
        else:
            result = plain(targets.TARGETS[name], targets.seeds(name), **limits)
        print(
            f"{name}: {result.executions} executions in {result.seconds:.0f} s ({how})", flush=True
        )
        if result.defect:
            failed = True
            print(f"{name}: a defect, its input kept in {found}\n{result.defect}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Train, judge and sample the byte-level language model; needs PyTorch, and no GPU.

    python examples/lm.py toy                       four arms on the CPU, under two minutes
    python examples/lm.py train --arm embedding+conv8 --text my.txt --checkpoint run.pt
    python examples/lm.py sample --checkpoint run.pt --prompt "To be"
    python examples/lm.py leaks                     which front ends see the future
    python examples/lm.py arms --equal parameters time --seeds 0 1 2 --out arms.json

`train` goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import codecs
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import compare_arms
import torch
from byte_model import ByteModel, LeakWarning, Shape, future_leak, sample
from compare_arms import EQUAL, Wanted, as_tensor
from corpus import SOURCES, Corpus, corpus
from front_ends import ARMS
from score import evaluate, unigram_entropy
from train import Run, Settings, trained_model


def settings_of(options: argparse.Namespace) -> Settings:
    shape = Shape(layers=options.layers, width=options.width, heads=options.heads,
                  context=options.context)  # fmt: skip
    return Settings(
        arm=options.arm,
        shape=shape,
        steps=options.steps,
        batch=options.batch,
        rate=options.rate,
        seed=options.seed,
        compiled=options.compile,
    )


def train(options: argparse.Namespace) -> int:
    settings = settings_of(options)
    texts = corpus(options.corpus, options.text)
    run = Run(settings, as_tensor(texts.train, options.device), checkpoint=options.checkpoint)
    if run.step:
        print(f"going on after step {run.step}", flush=True)

    def say(step: int, loss: float) -> None:
        print(f"step {step}/{settings.steps}: {loss:.3f} bits a byte on the batch", flush=True)

    report(run.train(progress=say), texts)
    return 0


def report(model: ByteModel, texts: Corpus) -> None:
    """Print what the model is worth, and whether to believe it."""
    score = evaluate(model, as_tensor(texts.held_out))
    print(f"held-out text: {score.all:.3f} bits a byte, {score.last:.3f} at the last position "
          f"of each window; {unigram_entropy(texts.held_out):.3f} without any context")  # fmt: skip
    leak = future_leak(model)
    words = f"changes earlier answers by up to {leak:.3g}" if leak else "changes no earlier answer"
    print(f"leak test: a later byte {words}")


def show_sample(options: argparse.Namespace) -> int:
    model = trained_model(options.checkpoint, torch.device(options.device))
    prompt = options.prompt.encode()
    sys.stdout.write(options.prompt)
    text = sample(model, prompt, options.bytes, temperature=options.temperature,
                  seed=options.seed)  # fmt: skip
    characters = codecs.getincrementaldecoder("utf-8")("replace")  # of up to four bytes each
    for each in text:
        sys.stdout.write(characters.decode(each))
        sys.stdout.flush()
    print()
    return 0


def leaks(options: argparse.Namespace) -> int:
    """Untrained models suffice: a leak is a property of the wiring."""
    shape = Shape(layers=1, width=64, heads=2, context=options.context)
    wrong = 0
    for name, arm in ARMS.items():
        torch.manual_seed(options.seed)
        model = ByteModel(name, shape).to(options.device)
        leak = future_leak(model)
        wrong += (leak == 0) != arm.causal
        seen = f"sees the future: {leak:.3g}" if leak else "sees no later byte"
        print(f"{name:24} {seen}")
    return 1 if wrong else 0


def toy(options: argparse.Namespace) -> int:
    """The same experiment in small: it shows the leak, not what the arms are worth."""
    torch.set_num_threads(options.threads)
    texts = corpus(options.corpus, options.text)
    small = Settings(shape=Shape(layers=1, width=64, heads=2, context=64), steps=200, batch=16,
                     rate=3e-3, warmup=20, seed=options.seed)  # fmt: skip
    texts = replace(texts, held_out=texts.held_out[:8193])
    print(f"{'arm':16} all    last   (bits a byte; {unigram_entropy(texts.held_out):.2f} without "
          "any context)")  # fmt: skip
    wanted = Wanted(equal="body", text=options.text, seed=options.seed)
    results = [
        compare_arms.one(replace(small, arm=arm), texts, wanted, "cpu")
        for arm in ("embedding", "mag", "published", "centred-reim")
    ]
    for each in results:
        leak = "LEAKS" if each["leak"] else ""
        print(f"{each['arm']:16} {each['all']:.3f}  {each['last']:.3f}  {leak}".rstrip())
    by_arm = {each["arm"]: each for each in results}
    fooled = by_arm["centred-reim"]["all"] < by_arm["embedding"]["all"]
    return 0 if fooled and not by_arm["embedding"]["leak"] else 1


def arms(options: argparse.Namespace) -> int:
    wanted = [
        Wanted(equal=equal, text=text, seed=seed)
        for equal in options.equal
        for seed in options.seeds
        for text in options.texts
    ]
    return compare_arms.many(
        options.arms, wanted, settings_of(options),
        {name: corpus(options.corpus, name) for name in options.texts}, options.device,
        options.out, seconds=options.seconds, untimed=options.untimed,
    )  # fmt: skip


def at_least(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if not least <= int(text) < 2**63:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {least}, not {text}"
            )
        return int(text)

    return whole_number


def from_zero(text: str) -> float:
    if not 0 <= float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number from 0 on, not {text}")
    return float(text)


def device(text: str) -> str:
    cards = torch.cuda.device_count()
    if text not in {"cpu", *(["cuda"] if cards else []), *(f"cuda:{i}" for i in range(cards))}:
        raise argparse.ArgumentTypeError(
            f"must be cpu, or cuda where torch sees a GPU ({cards} here), not {text}"
        )
    return text


def to_write(text: str) -> Path:
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {Path(text).parent}")
    return Path(text)


def parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    on = "cuda" if torch.cuda.is_available() else "cpu"
    common.add_argument("--device", type=device, default=on)
    common.add_argument("--seed", type=at_least(0), default=0)
    common.add_argument("--corpus", type=Path, metavar="DIR", help="where archives are kept")
    common.add_argument("--text", default="shakespeare", help=f"{', '.join(SOURCES)}, or a file")
    shape = argparse.ArgumentParser(add_help=False)
    for name, value in (("layers", 4), ("width", 256), ("heads", 4), ("context", 256),
                        ("steps", 1200), ("batch", 64)):  # fmt: skip
        shape.add_argument(f"--{name}", type=at_least(1), default=value)
    shape.add_argument("--rate", type=from_zero, default=1e-3)
    shape.add_argument("--compile", action="store_true", help="model and loss by torch.compile")
    whole = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = whole.add_subparsers(required=True)

    one = commands.add_parser("train", parents=[common, shape])
    one.add_argument("--arm", choices=ARMS, default="embedding")
    one.add_argument("--checkpoint", type=Path)
    one.set_defaults(run=train)
    many = commands.add_parser("arms", parents=[common, shape])
    many.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    many.add_argument("--seeds", nargs="+", type=at_least(0), default=[0, 1])
    many.add_argument("--texts", nargs="+", choices=SOURCES, default=["shakespeare"])
    many.add_argument("--equal", nargs="+", choices=EQUAL, default=["body"])
    many.add_argument("--untimed", nargs="+", choices=ARMS, default=[],
                      help="not run at equal time")  # fmt: skip
    many.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    many.add_argument("--out", type=to_write, default=Path("arms.json"))
    many.set_defaults(run=arms, arm="embedding")
    text = commands.add_parser("sample", parents=[common])
    text.add_argument("--checkpoint", type=Path, required=True)
    text.add_argument("--prompt", default="HAMLET.")
    text.add_argument("--bytes", type=at_least(0), default=400)
    text.add_argument("--temperature", type=from_zero, default=0.8)
    text.set_defaults(run=show_sample)
    future = commands.add_parser("leaks", parents=[common])
    future.add_argument("--context", type=at_least(2), default=128)
    future.set_defaults(run=leaks)
    small = commands.add_parser("toy", parents=[common])
    small.add_argument("--threads", type=at_least(1), default=1)
    small.set_defaults(run=toy)
    return whole


def main() -> int:
    options = parser().parse_args()
    if options.run in (leaks, toy, arms):
        warnings.simplefilter("ignore", LeakWarning)  # it is what they show
    try:
        return int(options.run(options))
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("ended by Ctrl-C; a checkpoint is gone on from", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

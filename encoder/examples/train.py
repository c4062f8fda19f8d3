"""Training of a `ByteModel`: reproducible and resumable.

Which bytes a step sees is a function of the seed and the step alone, so that a run that was
stopped goes on exactly where it was.
"""

from __future__ import annotations

import contextlib
import errno
import io
import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from byte_model import ByteModel, Shape, autocast
from replay import Replayed
from torch import Tensor, nn

_KEPT = {"settings", "step", "model", "optimiser"}  # in a checkpoint


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a run; the defaults are those of the table of arms in docs/encoder.md."""

    arm: str = "embedding"
    shape: Shape = field(default_factory=Shape)
    steps: int = 1200
    batch: int = 64
    rate: float = 1e-3
    warmup: int = 100
    decay: float = 0.1
    clip: float = 1.0
    seed: int = 0
    compiled: bool = False  # model and loss, by torch.compile

    def rate_at(self, step: int) -> float:
        """Linear warm-up, then a cosine down to a tenth."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (0.55 + 0.45 * math.cos(math.pi * done))


def windows(text: Tensor, settings: Settings) -> Tensor:
    """Start of each row of each step: (steps, rows)."""
    room = text.numel() - settings.shape.context
    if room < 1:
        raise ValueError(
            f"the text has {text.numel()} bytes; a row needs {settings.shape.context + 1}"
        )
    source = torch.Generator().manual_seed(settings.seed)
    begins = torch.randint(room, (settings.steps, settings.batch), generator=source)
    return begins.to(text.device)


def loss_of(model: ByteModel, rows: Tensor) -> Tensor:
    """Mean loss, in nats, of each byte of the rows but the first."""
    with autocast(rows.device):
        logits = model(rows[:, :-1])
        return nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), rows[:, 1:].flatten().long()
        )


class Run:
    """A model, its optimiser and the step that comes next.

    Args:
        settings: of the run.
        text: training bytes, uint8 (n,), on the device to train on.
        checkpoint: where to keep the state; what is there is gone on with.

    Raises:
        ValueError: the checkpoint is of other settings or none at all, or the text is too short.
        OSError: there is no folder to keep the checkpoint in, or it cannot be read.
    """

    def __init__(self, settings: Settings, text: Tensor, *, checkpoint: Path | None = None) -> None:
        self.settings = settings
        self.text = text
        self.device = device = text.device
        self.begins = windows(text, settings)
        self.rates = torch.tensor([settings.rate_at(i) for i in range(settings.steps)]).to(device)
        self.checkpoint = checkpoint
        self.step = 0
        torch.manual_seed(settings.seed)
        self.model = ByteModel(settings.arm, settings.shape).to(device)
        self.optimiser = _optimiser(self.model, settings)
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)
        elif checkpoint is not None and not checkpoint.parent.is_dir():
            reason = "no such folder for a checkpoint"  # better now than after the first steps
            raise FileNotFoundError(errno.ENOENT, reason, str(checkpoint.parent))
        # the device counts too: a replayed graph cannot be told the step
        self.at = torch.tensor([self.step], device=device)
        self.loss = torch.compile(loss_of, fullgraph=True) if settings.compiled else loss_of
        # on a GPU a step is a CUDA graph
        self.advance = Replayed(self._advance) if device.type == "cuda" else self._advance

    def train(
        self,
        *,
        progress: Callable[[int, float], object] | None = None,
        every: int = 100,
    ) -> ByteModel:
        """Run the steps that are left.

        Args:
            progress: told the steps done and the loss in bits a byte, every `every` steps.
            every: steps between reports and checkpoints.
        """
        self.model.train()
        while self.step < self.settings.steps:
            loss = self.advance()
            self.step += 1
            if self.step % every == 0 or self.step == self.settings.steps:
                self.save()
                if progress is not None:
                    progress(self.step, loss.item() / math.log(2))
        return self.model

    def _advance(self) -> Tensor:
        self.optimiser.zero_grad(set_to_none=True)
        for group in self.optimiser.param_groups:
            group["lr"].copy_(self.rates[self.at][0])
        offsets = torch.arange(self.settings.shape.context + 1, device=self.text.device)
        rows = self.text[self.begins[self.at][0][:, None] + offsets]
        loss = self.loss(self.model, rows)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimiser.step()
        self.at += 1
        return loss.detach()

    def seconds_a_step(self, steps: int, repeats: int = 5) -> float:
        """The median time of a step, by the wall clock, over so many steps."""
        found = []
        for _ in range(repeats):
            begin = time.perf_counter()
            for _ in range(steps):
                loss = self.advance()
            loss.item()  # waits for the device
            found.append((time.perf_counter() - begin) / steps)
        return statistics.median(found)

    def save(self) -> None:
        """Write the checkpoint, whole or not at all.

        Raises:
            OSError: it cannot be written; the one before it stands.
        """
        if self.checkpoint is None:
            return
        state = {
            "settings": asdict(self.settings),
            "step": self.step,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        content = io.BytesIO()  # torch does not say that a disk is full
        torch.save(state, content)
        new = self.checkpoint.with_name(f"{self.checkpoint.name}.new")
        try:
            with new.open("wb") as file:
                file.write(content.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.checkpoint)
        except OSError as error:
            with contextlib.suppress(OSError):
                new.unlink()
            reason = f"{error.strerror}; what was there before stands"
            raise OSError(error.errno, reason, str(self.checkpoint)) from error

    def _resume(self, checkpoint: Path) -> None:
        state = read_checkpoint(checkpoint, self.device)
        if state["settings"] != asdict(self.settings):
            raise ValueError(
                f"{checkpoint} was written with other settings; name another file or delete it"
            )
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step = state["step"]


def read_checkpoint(file: Path, device: torch.device) -> dict[str, Any]:
    """Read a file of `Run.save`; nothing in it is executed.

    Raises:
        OSError: it cannot be read.
        ValueError: it is something else, or damaged.
    """
    content = io.BytesIO(file.read_bytes())
    try:
        state = torch.load(content, map_location=device, weights_only=True)
    except Exception as error:  # whatever torch stumbles over in a foreign file
        raise _no_checkpoint(file) from error
    if not isinstance(state, dict) or not state.keys() >= _KEPT:
        raise _no_checkpoint(file)
    return state


def _no_checkpoint(file: Path) -> ValueError:
    return ValueError(f"{file} is no checkpoint, or a damaged one; name another file or delete it")


def trained_model(file: Path, device: torch.device) -> ByteModel:
    """The model of a checkpoint; raises as `read_checkpoint`."""
    state = read_checkpoint(file, device)
    settings = state["settings"]
    try:
        model = ByteModel(settings["arm"], Shape(**settings["shape"]))
        model.load_state_dict(state["model"])
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise _no_checkpoint(file) from error
    return model.to(device).eval()


def _optimiser(model: ByteModel, settings: Settings) -> torch.optim.AdamW:
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    device = next(model.parameters()).device
    on_gpu = device.type == "cuda"
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": settings.decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=torch.tensor(settings.rate, device=device),
        betas=(0.9, 0.95),
        fused=on_gpu,
        capturable=on_gpu,
    )

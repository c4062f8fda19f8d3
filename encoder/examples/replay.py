"""A training step as one CUDA graph: small models are bound by the host otherwise."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch
from torch import Tensor

WARM = 3  # calls that set up libraries, gradients and the optimiser's state


class Replayed:
    """Calls of `step`: the first few as they are, all later ones as a replay of one of them.

    `step` must do the same work on the same memory each time, and never wait for the device.
    """

    def __init__(self, step: Callable[[], Tensor]) -> None:
        self.step = step
        self.calls = 0
        self.aside = torch.cuda.Stream()
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> Tensor:
        """Returns what `step` did; a later call overwrites it."""
        self.calls += 1
        if self.calls <= WARM:
            # capture wants a stream of its own; so do the calls before it
            self.aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.aside):
                self.result = self.step()
            torch.cuda.current_stream().wait_stream(self.aside)
            return self.result
        if self.graph is None:
            gc.collect()  # a graph of an earlier run that is freed meanwhile would end the capture
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=self.aside):
                self.result = self.step()
        self.graph.replay()
        return self.result

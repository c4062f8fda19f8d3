"""How long work on a device takes: CUDA graphs whose launches rotate over more memory than caches.

On a CPU the same calls are timed with the wall clock, so that a benchmark can be rehearsed there;
such figures mean nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

ROTATION = 1_500_000_000  # bytes written before a buffer is met again; an H100's L2 holds 50 MB
LAUNCHES = 256
REPLAYS = 15

Launch = Callable[[int], Tensor]


class NotWritten(Exception):  # noqa: N818 - what is wrong with an output
    """Elements of a poisoned output were left as they were."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Microseconds a launch: the median over replays, and the extremes."""

    us: float
    low: float
    high: float


def _timing(samples: list[float]) -> Timing:
    return Timing(us=statistics.median(samples), low=min(samples), high=max(samples))


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Times work on one device."""

    device: torch.device

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"

    def launches(self, output_bytes: int) -> int:
        """Number of launches that rotate over enough memory."""
        if not self.on_gpu:
            return 2
        return max(4, min(LAUNCHES, ROTATION // max(1, output_bytes)))

    def busy(self, launch: Launch, output_bytes: int, replays: int = REPLAYS) -> Timing:
        """Time launches one behind the other, without the host.

        Args:
            launch: given the number of the launch (to choose its input), returns what it wrote.
            output_bytes: of one launch.

        Raises:
            NotWritten: an output that was filled with NaN before still holds some.
        """
        count = self.launches(output_bytes)
        if not self.on_gpu:
            return self.wall(lambda: [launch(i) for i in range(count)], repeats=3, per=count)
        graph, outputs = self._captured(launch, count)
        for each in outputs:
            if each.is_floating_point():
                each.fill_(float("nan"))
        graph.replay()
        if any(bool(each.isnan().any()) for each in outputs if each.is_floating_point()):
            raise NotWritten
        found = _timing([us / count for us in self._events(graph.replay, replays)])
        del graph, outputs
        torch.cuda.empty_cache()
        return found

    def _captured(self, launch: Launch, count: int) -> tuple[torch.cuda.CUDAGraph, list[Tensor]]:
        """All launches in one graph; its outputs live on, so that each has memory of its own."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for i in range(3):
                launch(i)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = [launch(i) for i in range(count)]
        return graph, outputs

    def _events(self, call: Callable[[], object], repeats: int) -> list[float]:
        call()
        marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
        for begin, end in marks:
            begin.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return [1000 * begin.elapsed_time(end) for begin, end in marks]

    def eager(self, call: Callable[[], object], repeats: int = REPLAYS, warm: int = 2) -> Timing:
        """Time single calls as a user makes them, the host's part included."""
        if not self.on_gpu:
            return self.wall(call, repeats=2)
        for _ in range(warm):
            call()
        torch.cuda.synchronize()
        return _timing(self._events(call, repeats) if warm else [self._once(call)])

    def _once(self, call: Callable[[], object]) -> float:
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        return 1e6 * (time.perf_counter() - begin)

    def host(self, call: Callable[[], object], calls: int = 200, repeats: int = 15) -> Timing:
        """Time until a call returns, while the device still works."""
        samples = []
        for _ in range(repeats if self.on_gpu else 2):
            if self.on_gpu:
                torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            samples.append(1e6 * (time.perf_counter() - begin) / calls)
        return _timing(samples[1:])

    def wall(self, call: Callable[[], object], repeats: int, per: int = 1) -> Timing:
        call()
        samples = []
        for _ in range(repeats):
            begin = time.perf_counter()
            call()
            samples.append(1e6 * (time.perf_counter() - begin) / per)
        return _timing(samples)

"""Threads that wait for programs, and a Ctrl-C that does not wait with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from tritonwin.facts.process import end_running

T = TypeVar("T")

_POLL = 0.1  # seconds; on Windows Ctrl-C is seen only between two waits


class WaitingThreads:
    """A few threads, each waiting for a program that it started with `process.run`."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._all: list[Future[Any]] = []

    def submit(self, function: Callable[..., T], *args: Any) -> Future[T]:
        future = self._pool.submit(function, *args)
        self._all.append(future)
        return future

    def result(self, future: Future[T]) -> T:
        """The value of the future, or what its function raised."""
        while not future.done():
            wait([future], timeout=_POLL)
        return future.result()

    def end(self) -> None:
        """End the programs until no thread waits: one that lost its program may start another."""
        for future in self._all:
            future.cancel()
        while not all(future.done() for future in self._all):
            end_running()
            wait(self._all, timeout=_POLL)


@contextmanager
def waiting_threads(most: int = 4) -> Iterator[WaitingThreads]:
    """Threads for the block; when Ctrl-C or an error ends the block, their programs end first."""
    with ThreadPoolExecutor(max_workers=most) as pool:
        threads = WaitingThreads(pool)
        try:
            yield threads
        except BaseException:
            threads.end()
            raise

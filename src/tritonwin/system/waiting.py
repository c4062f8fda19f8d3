"""Threads that wait for programs, and a Ctrl-C that does not wait with them."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from tritonwin.system.process import end_running

T = TypeVar("T")


class GaveUpError(Exception):
    """Something did not answer in time; the thread that asked it is left to itself."""


def by_the_clock(values: Callable[[], Iterator[T]], timeout: float) -> Generator[T, None, None]:
    """The values of an iterator that runs in a thread of its own, for `timeout` seconds at most.

    Ctrl-C comes through meanwhile, whatever the iterator waits for. Close this iterator to end the
    other one before its next value.

    Raises:
        GaveUpError: it did not end in time.
    """
    came: queue.Queue[tuple[bool, Any]] = queue.Queue(4)
    left = threading.Event()

    def hand_on(ended: bool, value: Any) -> None:
        while not left.is_set():
            with contextlib.suppress(queue.Full):
                came.put((ended, value), timeout=_LOOK)
                return

    def ask() -> None:
        try:
            for value in values():
                hand_on(False, value)
                if left.is_set():
                    return
            hand_on(True, None)
        except BaseException as error:  # noqa: BLE001 - raised where the values are taken
            hand_on(True, error)

    threading.Thread(target=ask, daemon=True).start()
    deadline = time.monotonic() + timeout
    try:
        while (rest := deadline - time.monotonic()) > 0:
            # short: on Windows no Ctrl-C comes while a lock is waited for
            with contextlib.suppress(queue.Empty):
                ended, value = came.get(timeout=min(rest, _LOOK))
                if not ended:
                    yield value
                elif value is not None:
                    raise value
                else:
                    return
        raise GaveUpError
    finally:
        left.set()


_PAUSE = 0.01  # seconds between two looks
_LOOK = 0.05


class WaitingThreads:
    """A few threads, each waiting for a program that it started with `process.run`.

    Who waits for a thread looks now and then, and takes no lock: a Ctrl-C could come between the
    taking and the giving back, and the thread would wait for the lock for ever.
    """

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._all: list[Future[Any]] = []
        self._ended: set[Future[Any]] = set()

    def submit(self, function: Callable[..., T], *args: Any) -> Future[T]:
        future = self._pool.submit(function, *args)
        self._all.append(future)
        future.add_done_callback(self._ended.add)
        return future

    def result(self, future: Future[T]) -> T:
        """The value of the future, or what its function raised."""
        while future not in self._ended:
            time.sleep(_PAUSE)
        return future.result()

    def end(self) -> None:
        """End the programs until no thread waits: one that lost its program may start another."""
        for future in self._all:
            future.cancel()
        while not self._ended.issuperset(self._all):
            end_running()
            time.sleep(_PAUSE)


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

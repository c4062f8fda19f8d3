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

from tritonwin.system.files import give_up_asking
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
    deadline = time.monotonic() + timeout
    return _from_thread(values, lambda _: time.monotonic() > deadline)


def _from_thread(
    values: Callable[[], Iterator[T]], give_up: Callable[[int], bool]
) -> Generator[T, None, None]:
    """The values of an iterator in another thread, until `give_up`, which is asked with its id."""
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

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        while not give_up(thread.ident or 0):
            # short: on Windows no Ctrl-C comes while a lock is waited for
            with contextlib.suppress(queue.Empty):
                ended, value = came.get(timeout=_LOOK)
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


PATIENCE = 10.0  # seconds; a disk that sleeps wakes up in that time
_leaving = threading.Event()  # Ctrl-C came: nobody waits for an answer any more


def answered(function: Callable[[], T]) -> T:
    """The value of a function that asks the disk, in a thread which can be given up.

    A drive that does not answer one question of `system.files` in PATIENCE seconds counts as not
    there from then on, and the function starts again. Ctrl-C comes through meanwhile.

    Raises:
        GaveUpError: Ctrl-C came to the main thread.
    """

    def give_up(thread: int) -> bool:
        return _leaving.is_set() or give_up_asking(thread, PATIENCE)

    while True:
        with contextlib.suppress(GaveUpError):
            return next(_from_thread(lambda: iter((function(),)), give_up))
        if _leaving.is_set():
            raise GaveUpError


class WaitingThreads:
    """A few threads, each waiting for a program that it started with `process.run`.

    Who waits for a thread looks now and then, and takes no lock: a Ctrl-C could come between the
    taking and the release, and the thread would wait for the lock for ever.
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
        _leaving.set()
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
        finally:
            _leaving.clear()

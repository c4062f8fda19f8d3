"""Changes to pytest while tools/mutate.py runs it.

mutmut forks one process that has imported and run everything, and runs in each fork the tests that
reached the changed function when nothing was changed. So what `functools.cache` remembers must not
hide the change from the fork, nor the function from the record.

PYTEST_DONT_REWRITE: it is imported before pytest could.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STATE: Any = importlib.import_module("mutmut.state").state
# What this run is to run; empty: everything. Names of tests are no arguments that pytest can take
# apart where they hold `::` or a line end.
wanted: set[str] = set()
_caches: list[Any] = []
_cache = functools.cache


def cache(function: Callable[..., Any]) -> Any:
    """`functools.cache`, which tells mutmut at every call what was called to find the answer."""
    reached: dict[Any, set[str]] = {}

    @_cache
    def asked(*args: Any, **kwargs: Any) -> Any:
        known, STATE()._stats = STATE()._stats, set()
        try:
            return function(*args, **kwargs)
        finally:
            reached[args, frozenset(kwargs.items())] = STATE()._stats
            STATE()._stats = known | STATE()._stats

    @functools.wraps(function)
    def remembered(*args: Any, **kwargs: Any) -> Any:
        answer = asked(*args, **kwargs)
        STATE()._stats |= reached[args, frozenset(kwargs.items())]
        return answer

    _caches.append(asked)
    remembered.cache_clear = asked.cache_clear  # type: ignore[attr-defined]
    remembered.cache_info = asked.cache_info  # type: ignore[attr-defined]
    return remembered


functools.cache = cache


def pytest_configure() -> None:
    """The same examples each time, and few of them: each mutant has its own run."""
    from hypothesis import settings  # after tests/conftest.py, whose profile this replaces

    profile = settings(max_examples=20, derandomize=True, database=None, deadline=None)
    settings.register_profile("mutation", profile)
    settings.load_profile("mutation")


def pytest_sessionstart() -> None:
    for each in _caches:
        each.cache_clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the wanted tests, quick ones first, because the first failure ends the run."""
    items[:] = [item for item in items if not wanted or item.nodeid in wanted]
    record = Path("mutmut-stats.json")
    if record.is_file():
        seconds = json.loads(record.read_text("utf-8"))["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0))

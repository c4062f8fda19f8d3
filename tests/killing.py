"""Run something in a forked process that dies at its nth fault point, and a registry that stays."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from trees import describe_tree

from tritonwin.journal import RegistryValue, Store, faults, undo
from tritonwin.system.codec import from_json, to_json
from tritonwin.system.registry import Registry

CAN_FORK = hasattr(os, "fork")
# hundreds of small files a second: not on a disk that others use, where there is a choice
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def killed_at(point: int, action: Callable[[], object]) -> bool:
    """True if the process was killed at that point; False: it ended before it came there.

    Without fork, the action is stopped in this process: from that point on it changes nothing more.

    Raises:
        AssertionError: the action failed in another way.
    """
    if not CAN_FORK:
        return _stopped_at(point, action)
    with warnings.catch_warnings():
        # pytest-xdist has a thread that takes no part in this
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ[faults.VARIABLE] = str(point)
            faults._passed.clear()
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


class _StoppedError(BaseException):
    pass


class _Passed(list[str]):
    """The fault points that were passed; the last one, and each after it, raises."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    def append(self, name: str) -> None:
        super().append(name)
        if len(self) >= self.last:
            raise _StoppedError


def _stopped_at(point: int, action: Callable[[], object]) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(faults.VARIABLE, "0")
        patch.setattr(faults, "_passed", _Passed(point))
        try:
            action()
        except _StoppedError:
            return True
    return False


@dataclass(frozen=True)
class FileRegistry(Registry):
    """A registry in a JSON file, so that a process that is killed leaves it as it was then."""

    file: Path

    def _read(self) -> dict[str, dict[str, RegistryValue]]:
        if not self.file.exists():
            return {}
        tree = json.loads(self.file.read_text())
        return {k: {n: from_json(RegistryValue, v) for n, v in t.items()} for k, t in tree.items()}

    def _write(self, tree: dict[str, dict[str, RegistryValue]]) -> None:
        new = self.file.with_suffix(".new")
        kept = {key: values for key, values in tree.items() if values}
        new.write_text(json.dumps(to_json(kept), sort_keys=True))
        new.replace(self.file)

    def stored(self, key: str, name: str) -> RegistryValue | None:
        return self._read().get(key, {}).get(name)

    def store(self, key: str, name: str, value: RegistryValue | None) -> None:
        tree = self._read()
        values = tree.setdefault(key, {})
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value
        self._write(tree)


@dataclass(frozen=True)
class Scene:
    """The folders that changes may touch, with a store and a registry beside them."""

    root: Path
    folders: tuple[Path, ...]

    @property
    def store(self) -> Store:
        return Store(self.root / "store")

    @property
    def registry(self) -> FileRegistry:
        return FileRegistry(self.root / "registry.json")

    def state(self) -> tuple[list[list[str]], object]:
        return [describe_tree(folder) for folder in self.folders], self.registry._read()

    def undo_all(self) -> None:
        for header in self.store.journals()[::-1]:
            report = undo(self.store, header.id, registry=self.registry)
            assert report.state == "undone", report
            assert report.left == ()

    @contextmanager
    def saved(self) -> Iterator[Callable[[], None]]:
        """A function that restores the folders, the store and the registry as they are now."""
        with tempfile.TemporaryDirectory(dir=MEMORY) as backup:
            copies = {
                folder: Path(backup, str(number))
                for number, folder in enumerate((*self.folders, self.store.root))
            }
            for folder, copy in copies.items():
                if folder.exists():
                    shutil.copytree(folder, copy, symlinks=True)
            values = self.registry.file.read_bytes()

            def restore() -> None:
                for folder, copy in copies.items():
                    shutil.rmtree(folder, ignore_errors=True)
                    if copy.exists():
                        shutil.copytree(copy, folder, symlinks=True)
                self.registry.file.write_bytes(values)

            yield restore

    def kill_everywhere(self, apply: Callable[[], object], every: int = 1) -> int:
        """Kill the change and its undo at each `every`th of their points; the number of kills."""
        before, kills = self.state(), 0
        for action in (apply, self.undo_all):
            with self.saved() as restore:
                point = 1
                while killed_at(point, action):
                    self.undo_all()
                    assert self.state() == before, (action, point)
                    restore()
                    point += every
                    kills += 1
            assert point > 1
        assert self.state() == before
        return kills

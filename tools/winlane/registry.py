"""The Windows registry of one test: changes are gathered, made in one process, and taken back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winlane.environment import Environment
from winlane.resources import HERE

_SCRIPT = HERE / "windows" / "registry.py"


@dataclass
class Registry:
    """Keys are spelled HKLM\\..., HKCU\\...; the 32-bit view is plain WOW6432Node.

    Changes wait until `flush`, which every start of a Windows program calls first.
    """

    python: Environment
    _waiting: list[dict[str, Any]] = field(default_factory=list)
    _undo: list[dict[str, Any]] = field(default_factory=list)

    def set(self, key: str, name: str, value: object, kind: str = "REG_SZ") -> None:
        """`name` "" is the default value; `value` is what winreg takes: str, int, list, bytes."""
        data = {"hex": value.hex()} if isinstance(value, bytes) else value
        self._waiting.append({"do": "set", "key": key, "name": name, "value": data, "kind": kind})

    def delete(self, key: str) -> None:
        """The key and all below it; nothing when it is not there."""
        self._waiting.append({"do": "delete", "key": key})

    def protect(self, key: str) -> None:
        """Put `key` back after the test, whatever the programs under test do to it."""
        self._waiting.append({"do": "keep", "key": key})

    def read(self, key: str) -> dict[str, Any] | None:
        """The values of `key` by name, None when there is no such key."""
        self._waiting.append({"do": "read", "key": key})
        tree = self.flush()[-1]
        if tree is None:
            return None
        return {
            name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
            for name, value, _ in tree["values"]
        }

    def flush(self) -> list[Any]:
        steps, self._waiting = self._waiting, []
        if not steps:
            return []
        answer = self._carry_out(steps)
        self._undo = answer["undo"] + self._undo
        read: list[Any] = answer["read"]
        return read

    def restore(self) -> None:
        self._waiting.clear()
        steps, self._undo = self._undo, []
        if steps:
            self._carry_out(steps)

    def _carry_out(self, steps: list[dict[str, Any]]) -> dict[str, Any]:
        folder = self.python.root
        request, answer = folder / "registry-steps.json", folder / "registry-answer.json"
        request.write_text(json.dumps(steps), "utf-8")
        answer.unlink(missing_ok=True)
        paths: list[Path] = [_SCRIPT, request, answer]
        result = self.python.run("-I", *(self.python.win(path) for path in paths), timeout=300)
        if result.returncode:
            # the steps before the one that failed still have to be taken back
            done = json.loads(answer.read_text("utf-8")) if answer.exists() else {"undo": []}
            self._undo = done["undo"] + self._undo
            result.check()
        found: dict[str, Any] = json.loads(answer.read_text("utf-8"))
        return found

"""Runs inside Windows: carries out registry steps and notes how to take each one back.

    python -I registry.py STEPS.json ANSWER.json

A step is {"do": "set" | "delete" | "keep" | "restore" | "read", "key": "HKLM\\..."}
and more. The answer holds "undo", the steps that restore what was there (last change first), and
"read", one entry for each read step.
"""

from __future__ import annotations

import contextlib
import json
import sys
import winreg
from pathlib import Path
from typing import Any

assert sys.platform == "win32"  # noqa: S101 - this is how mypy learns it

Step = dict[str, Any]
Tree = dict[str, Any]

ROOTS = {
    "HKLM": winreg.HKEY_LOCAL_MACHINE,
    "HKCU": winreg.HKEY_CURRENT_USER,
    "HKCR": winreg.HKEY_CLASSES_ROOT,
    "HKU": winreg.HKEY_USERS,
}
ALL = winreg.KEY_ALL_ACCESS


def split(key: str) -> tuple[int, str]:
    root, _, path = key.partition("\\")
    return ROOTS[root.upper()], path


def pack(value: object) -> object:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def unpack(value: Any) -> Any:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def snapshot(key: str, *, deep: bool = True) -> Tree | None:
    """{"values": [[name, value, type]], "keys": {name: snapshot}}; None where there is no key."""
    root, path = split(key)
    try:
        handle = winreg.OpenKey(root, path)
    except FileNotFoundError:
        return None
    with handle:
        n_keys, n_values, _ = winreg.QueryInfoKey(handle)
        values = [winreg.EnumValue(handle, index) for index in range(n_values)]
        names = [winreg.EnumKey(handle, index) for index in range(n_keys)]
    return {
        "values": [[name, pack(value), kind] for name, value, kind in values],
        "keys": {name: snapshot(f"{key}\\{name}") if deep else None for name in names},
    }


def delete(key: str) -> None:
    for name in (snapshot(key, deep=False) or {"keys": ()})["keys"]:
        delete(f"{key}\\{name}")
    root, path = split(key)
    with contextlib.suppress(FileNotFoundError):
        winreg.DeleteKey(root, path)


def restore(key: str, tree: Tree | None) -> None:
    """Make `key` what `tree` says; of keys below without a snapshot, only that they are there."""
    if tree is None:
        delete(key)
        return
    root, path = split(key)
    with winreg.CreateKeyEx(root, path, 0, ALL) as handle:
        now = snapshot(key, deep=False) or tree
        for name in {name for name, _, _ in now["values"]} - {
            name for name, _, _ in tree["values"]
        }:
            winreg.DeleteValue(handle, name)
        for name, value, kind in tree["values"]:
            winreg.SetValueEx(handle, name, 0, kind, unpack(value))
    for name in now["keys"].keys() - tree["keys"].keys():
        delete(f"{key}\\{name}")
    for name, below in tree["keys"].items():
        if below is not None:
            restore(f"{key}\\{name}", below)


def remembered(key: str, *, deep: bool) -> Step:
    """The step that restores `key`, or takes away the topmost key above it that is missing."""
    parts = key.split("\\")
    for end in range(2, len(parts) + 1):
        above = "\\".join(parts[:end])
        if snapshot(above, deep=False) is None:
            return {"do": "restore", "key": above, "tree": None}
    return {"do": "restore", "key": key, "tree": snapshot(key, deep=deep)}


def carry_out(step: Step, undo: list[Step], read: list[Tree | None]) -> None:
    key = step["key"]
    if step["do"] in ("set", "keep", "delete"):
        undo.append(remembered(key, deep=step["do"] != "set"))
    match step["do"]:
        case "set":
            kind = step["kind"]
            kind = getattr(winreg, kind) if isinstance(kind, str) else kind
            root, path = split(key)
            with winreg.CreateKey(root, path) as handle:
                winreg.SetValueEx(handle, step["name"], 0, kind, unpack(step["value"]))
        case "delete":
            delete(key)
        case "restore":
            restore(key, step["tree"])
        case "read":
            read.append(snapshot(key, deep=False))


def main(steps_path: str, answer_path: str) -> None:
    steps = json.loads(Path(steps_path).read_text("utf-8"))
    undo: list[Step] = []
    read: list[Tree | None] = []
    try:
        for step in steps:
            carry_out(step, undo, read)
    finally:
        Path(answer_path).write_text(json.dumps({"undo": undo[::-1], "read": read}), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

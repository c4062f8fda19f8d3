"""Runs inside Windows: carries out registry steps and notes how to take each one back.

    python -I registry.py STEPS.json ANSWER.json

A step is {"do": "set" | "unset" | "delete" | "keep" | "restore" | "read", "key": "HKLM\\..."}
and more. The answer holds "undo", the steps that restore what was there (last change first), and
"read", one entry for each read step.
"""

from __future__ import annotations

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
    root, path = split(key)
    try:
        handle = winreg.OpenKey(root, path, 0, ALL)
    except FileNotFoundError:
        return
    with handle:
        names = [winreg.EnumKey(handle, i) for i in range(winreg.QueryInfoKey(handle)[0])]
    for name in names:
        delete(f"{key}\\{name}")
    winreg.DeleteKey(root, path)


def create(key: str, tree: Tree) -> None:
    root, path = split(key)
    with winreg.CreateKey(root, path) as handle:
        for name, value, kind in tree["values"]:
            winreg.SetValueEx(handle, name, 0, kind, unpack(value))
    for name, below in tree["keys"].items():
        create(f"{key}\\{name}", below)


def restore(key: str, tree: Tree | None) -> None:
    delete(key)
    if tree is not None:
        create(key, tree)


def topmost_missing(key: str) -> str | None:
    parts = key.split("\\")
    for end in range(2, len(parts) + 1):
        above = "\\".join(parts[:end])
        root, path = split(above)
        try:
            winreg.OpenKey(root, path).Close()
        except FileNotFoundError:
            return above
    return None


def undo_of_value(key: str, name: str) -> Step:
    """The step that restores one value of an existing key."""
    root, path = split(key)
    with winreg.OpenKey(root, path) as handle:
        try:
            value, kind = winreg.QueryValueEx(handle, name)
        except FileNotFoundError:
            return {"do": "unset", "key": key, "name": name}
    return {"do": "set", "key": key, "name": name, "value": pack(value), "kind": kind}


def change_value(step: Step, undo: list[Step]) -> None:
    key, name = step["key"], step["name"]
    missing = topmost_missing(key)
    if missing is None:
        undo.append(undo_of_value(key, name))
    elif step["do"] == "unset":
        return
    else:
        undo.append({"do": "restore", "key": missing, "tree": None})
    root, path = split(key)
    with winreg.CreateKey(root, path) as handle:
        if step["do"] == "set":
            kind = step["kind"]
            kind = getattr(winreg, kind) if isinstance(kind, str) else kind
            winreg.SetValueEx(handle, name, 0, kind, unpack(step["value"]))
        elif undo[-1]["do"] == "set":
            winreg.DeleteValue(handle, name)


def keep(key: str, undo: list[Step]) -> None:
    missing = topmost_missing(key)
    tree = None if missing else snapshot(key)
    undo.append({"do": "restore", "key": missing or key, "tree": tree})


def carry_out(step: Step, undo: list[Step], read: list[Tree | None]) -> None:
    key = step["key"]
    match step["do"]:
        case "set" | "unset":
            change_value(step, undo)
        case "keep":
            keep(key, undo)
        case "delete":
            keep(key, undo)
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

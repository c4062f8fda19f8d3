"""The import hook in a target: its contents, its place, and the search for it.

It is one file, `runtime.py` with its settings filled in, and a `.pth` that starts it. It applies
the rules of `patch`, carries the driver in Python, or both: whoever adds or removes one keeps the
other. The same contents always give the same bytes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import zlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonwin.errors import UserError
from tritonwin.facts.records import Interpreter
from tritonwin.facts.torch_triton import HOOK, HOOK_SETTINGS, HOOK_START, hook_settings
from tritonwin.journal import Journal
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.apply import DETOURS
from tritonwin.patch.records import Hook
from tritonwin.patch.rules import FILES
from tritonwin.system.access import can_write
from tritonwin.system.files import is_file, is_folder, paths_in, read_text
from tritonwin.system.toml import loads

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_UNFILLED = f"{HOOK_SETTINGS}{{}}  # filled in by install.py\n"
# Python runs a line of a .pth that begins with `import`, in a venv twice. It costs every start, so
# the hook itself is read when Triton is imported. Nothing of the hook may stop a program: not one
# that is gone (nothing is said), cut short or full of NULs (one line), and no broken stderr.
_START_CODE = """\
class TritonwinStart:
 @staticmethod
 def find_spec(name, path=None, target=None):
  if name.partition('.')[0] != 'triton':
   return None
  TritonwinStart.find_spec = staticmethod(lambda *_, **__: None)
  try:
   import _tritonwin_hook
   return _tritonwin_hook.finder.find_spec(name, path, target)
  except BaseException as error:
   try:
    if getattr(error, 'name', '') != '_tritonwin_hook':
     sys.modules['_tritonwin_hook'] = None
     raw = getattr(getattr(sys.stderr, 'buffer', None), 'raw', None)
     line = 'tritonwin: its import hook is damaged (%s) and does nothing; write it again, or: \
tritonwin patch revert\\n' % type(error).__name__
     raw.write(line.encode()) if raw else sys.stderr.write(line)
   except Exception:
    pass
if not any(getattr(f, '__name__', '') == 'TritonwinStart' for f in sys.meta_path):
 sys.meta_path.insert(0, TritonwinStart)
 if 'triton' in sys.modules:
  TritonwinStart.find_spec('triton')
"""
_START = f"import sys; exec({_START_CODE!r}, {{'sys': sys}})\n"
# What is carried, in packages of their own names: tritonwin may be installed in the target too.
# They import each other and the standard library alone.
_RULES, _DRIVER = "_tritonwin_patch", "_tritonwin_driver"
_PARTS: dict[str, tuple[str, Collection[str]]] = {
    _RULES: ("tritonwin.patch", (
        "__init__.py", "edits.py", "engine.py", "rules", "payload", "known_sources.json",
        "hook/__init__.py", "hook/apply.py",
    )),
    _DRIVER: ("tritonwin.driver.payload", (
        "__init__.py", "adopt.py", "api.py", "cuda.py", "descriptors.py", "hip.py", "launch.py",
        "packed.py", "sources.py",
    )),
}  # fmt: skip
# right after one of these was executed as a module, the driver in Python is handed it
DRIVER_FILES = ("backends/nvidia/driver.py", "backends/amd/driver.py")
_ON_DISK = "Patch its files instead: tritonwin patch apply --python {python}"


# -- its content


def generate(choice: RuleChoice | None, *, driver: bool = False) -> dict[str, bytes]:
    """The contents of both files by their names; the hook first, so that nothing starts half."""
    template = files("tritonwin.patch.hook").joinpath("runtime.py").read_text("utf-8")
    rewritten = (*FILES, *DETOURS) if choice else ("backends/__init__.py",)
    handed = DRIVER_FILES if driver else ()
    settings: dict[str, Any] = {
        "modules": {_module(f): f for f in (*rewritten, *handed) if f.endswith(".py")},
        "rewritten": tuple(dict.fromkeys(rewritten)),
        "choice": choice and (tuple(choice.only), choice.allow_unknown),
        "driver": handed,
        "packages": {name: _packed(name) for name in (_RULES, _DRIVER)[: 1 + driver]},
    }
    settings["digest"] = hashlib.sha256(repr((template, settings)).encode()).hexdigest()
    hook = template.replace(_UNFILLED, f"{HOOK_SETTINGS}{settings!r}\n")
    return {HOOK: hook.encode(), HOOK_START: _START.encode()}


def _module(file: str) -> str:
    return "triton." + file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def _packed(carried: str) -> str:
    package, parts = _PARTS[carried]
    name = re.compile(rf"\b{re.escape(package)}\b")
    folder = files(package)
    sources = {
        path: name.sub(carried, text)
        for part in parts
        for path, text in _below(folder.joinpath(*part.split("/")), f"{carried}/{part}")
    }
    return base64.b85encode(zlib.compress(json.dumps(sources).encode(), 9)).decode()


def _below(place: Traversable, path: str) -> Iterator[tuple[str, str]]:
    if place.is_dir():
        for inside in sorted(place.iterdir(), key=lambda each: each.name):
            yield from _below(inside, f"{path}/{inside.name}")
    elif path.endswith((".py", ".json", ".h")):
        yield path, place.read_text("utf-8")
    elif path.endswith("/rules.toml"):  # a target's Python may read no TOML
        rows = loads(place.read_text("utf-8"))["rule"]
        yield path.removesuffix(".toml") + ".json", json.dumps(rows)


# -- in a target


def find(target: Interpreter) -> Hook | None:
    """The hook that this Python would start, or could."""
    for folder in _folders(target):
        text = read_text(folder / HOOK)
        if text is None:
            continue
        starts, settings = is_file(folder / HOOK_START), hook_settings(text)
        if settings is None:
            return Hook(folder=str(folder), starts=starts, damaged=True)
        chosen = settings["choice"]
        there = Hook(
            folder=str(folder),
            choice=RuleChoice(tuple(chosen[0]), chosen[1]) if chosen else None,
            driver=bool(settings["driver"]),
            starts=starts,
        )
        same = generate(there.choice, driver=there.driver)[HOOK]
        return replace(there, current=text.encode() == same)
    return None


def place(target: Interpreter) -> Path:
    """The folder that a hook for this Python belongs in.

    Raises:
        UserError: this Python starts no hook, or nothing may be written where it looks for one.
    """
    advice = _ON_DISK.format(python=target.executable)
    if target.site_loaded is False or (target.pth and not target.pth.import_site):
        raise UserError(
            f"{target.executable} reads no .pth files, so that nothing could start the import hook",
            advice,
        )
    if target.version and tuple(map(int, target.version.split(".")[:2])) < (3, 9):
        raise UserError(f"the import hook needs Python 3.9, and this is {target.version}", advice)
    for folder in _folders(target):
        if can_write(folder):
            return folder
    raise UserError(
        f"nothing can be written into {' or '.join(map(str, _folders(target))) or 'this Python'}",
        "Start the terminal as administrator, or make one of them writable.",
    )


def write(
    journal: Journal, target: Interpreter, choice: RuleChoice | None, *, driver: bool
) -> tuple[Path, ...]:
    """Write the hook in the place of what is there, or delete it where it would do nothing.

    Returns:
        The paths of its files.

    Raises:
        UserError: see `place`; JournalError where the system refuses.
    """
    there = find(target)
    folder = Path(there.folder) if there else place(target)
    if choice or driver:
        for name, content in generate(choice, driver=driver).items():
            journal.write(folder / name, content)
    else:
        for name in (HOOK_START, HOOK):
            if is_file(folder / name):
                journal.delete(folder / name)
        drop_kept(folder)
    return (folder / HOOK, folder / HOOK_START)


def drop_kept(folder: Path) -> None:
    """Delete what a hook in that folder kept in `__pycache__`; what stays does no harm."""
    for path in paths_in(folder / "__pycache__", f"{HOOK.removesuffix('.py')}.*"):
        with contextlib.suppress(OSError):
            path.unlink()


def _folders(target: Interpreter) -> tuple[Path, ...]:
    """The folders that this Python reads `.pth` files from, in its order; the user's last."""
    listed = [*target.site_packages, *filter(None, [target.user_site])]
    folders = [Path(folder) for folder in dict.fromkeys(listed)]
    # the user's own is made when something is put there, as pip does it
    return tuple(f for f in folders if is_folder(f) or str(f) == target.user_site)

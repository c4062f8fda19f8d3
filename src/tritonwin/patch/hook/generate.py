"""The hook as it is written into a target: a file that holds the rules, and the line to start it.

The same rules and choices always give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from tritonwin import __version__
from tritonwin.facts.triton_facts import HOOK, HOOK_START
from tritonwin.patch.hook import apply
from tritonwin.patch.hook.apply import Choice
from tritonwin.patch.rules import FILES

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Python runs a line of a .pth that begins with `import`. Should the hook be gone, all goes on.
_START = 'import sys; exec("try: import _tritonwin_hook\\nexcept ImportError: pass")\n'
SETTINGS = "SETTINGS: dict[str, Any] = "  # how the line begins that tells one hook from another
_UNFILLED = f"{SETTINGS}{{}}  # filled in by generate.py\n"
# what the target needs, and a package name of its own: tritonwin may be installed there too
_CARRIED = (
    "__init__.py", "model.py", "edits.py", "engine.py", "rules", "payload",
    "known.py", "known_sources.json", "hook/__init__.py", "hook/apply.py",
)  # fmt: skip
_PACKAGE = re.compile(r"\btritonwin\.patch\b")
_PACKAGE_THERE = "_tritonwin_patch"


def generate(choice: Choice) -> dict[str, bytes]:
    """The contents of both files by their names; the hook first, so that nothing starts half."""
    template = files("tritonwin.patch.hook").joinpath("runtime.py").read_text("utf-8")
    sources = base64.b85encode(zlib.compress(json.dumps(dict(_sources())).encode(), 9)).decode()
    settings = {
        "tool": __version__,
        "modules": _modules(),
        "only": choice.only,
        "allow_unknown": choice.allow_unknown,
        "sources": sources,
    }
    settings["digest"] = hashlib.sha256(repr((template, settings)).encode()).hexdigest()
    hook = template.replace(_UNFILLED, f"{SETTINGS}{settings!r}\n")
    return {HOOK: hook.encode(), HOOK_START: _START.encode()}


def _modules() -> dict[str, str]:
    """The modules to be patched by their names in Python, and the files they are."""
    python = [file for file in (*FILES, *apply.DETOURS) if file.endswith(".py")]
    return {
        "triton." + file.removesuffix("/__init__.py").removesuffix(".py").replace("/", "."): file
        for file in python
    }


def _sources() -> Iterator[tuple[str, str]]:
    package = files("tritonwin.patch")
    for part in _CARRIED:
        yield from _below(package.joinpath(*part.split("/")), f"{_PACKAGE_THERE}/{part}")


def _below(place: Traversable, path: str) -> Iterator[tuple[str, str]]:
    if place.is_dir():
        for inside in sorted(place.iterdir(), key=lambda each: each.name):
            yield from _below(inside, f"{path}/{inside.name}")
    elif path.endswith((".py", ".json")):
        yield path, _PACKAGE.sub(_PACKAGE_THERE, place.read_text("utf-8"))

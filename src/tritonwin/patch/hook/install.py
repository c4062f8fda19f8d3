"""The import hook in a target: its contents, its place, and the search for it.

It is one file, `runtime.py` with its settings filled in, and a `.pth` that starts it. It applies
the rules of `patch` if a `RuleChoice` is given, and carries any number of `Payload`s. Whoever adds
or removes one of these keeps the others:

    there = find(target)
    write(journal, target, there.choice if there else None, (*others, payload))
    remove_payload(journal, target, payload.name)

The same choice and payloads always give the same bytes.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import json
import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tritonwin import __version__
from tritonwin.errors import UserError
from tritonwin.facts.records import Interpreter
from tritonwin.facts.torch_triton import HOOK, HOOK_START
from tritonwin.journal import Journal
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.apply import DETOURS
from tritonwin.patch.rules import FILES
from tritonwin.system.access import can_write
from tritonwin.system.files import is_file, is_folder, paths_in, read_text
from tritonwin.system.toml import loads

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# How a line of the hook begins that tells one from another; its template has nothing behind it.
_SETTINGS = "SETTINGS: dict[str, Any] = "
_UNFILLED = f"{_SETTINGS}{{}}  # filled in by install.py\n"
# Python runs a line of a .pth that begins with `import`. Nothing of the hook may stop a start: not
# one that is gone (nothing is said), cut short or full of NULs (one line), and no broken stderr.
_START_CODE = """\
try:
 import _tritonwin_hook
except Exception as error:
 try:
  if getattr(error, 'name', '') != '_tritonwin_hook':
   raw = getattr(getattr(sys.stderr, 'buffer', None), 'raw', None)
   line = 'tritonwin: its import hook is damaged (%s) and does nothing; write it again, or: \
tritonwin patch revert\\n' % type(error).__name__
   raw.write(line.encode()) if raw else sys.stderr.write(line)
 except Exception:
  pass
"""
_START = f"import sys; exec({_START_CODE!r})\n"
# what the rules need, in a package of its own name: tritonwin may be installed in the target too
_RULES = "_tritonwin_patch"
_RULES_PARTS = (
    "__init__.py", "edits.py", "engine.py", "rules", "payload", "known_sources.json",
    "hook/__init__.py", "hook/apply.py",
)  # fmt: skip
_ON_DISK = "Patch its files instead: tritonwin patch apply --python {python}"


@dataclass(frozen=True, kw_only=True)
class Payload:
    """A package that the hook carries beside the rules. `payload` makes one of a part of tritonwin.

    Attributes:
        name: "driver". The package is `_tritonwin_driver` in the target.
        files: of Triton, relative to its package folder. Right after one of them was executed as a
            module, however Triton loads it, `start` is called; not where others load the module.
        start: "module:function", a module of the carried package. It is called as
            `function(module, file, options)` and returns "" or what is wrong, for the hook's report
            (`python -m _tritonwin_hook`). What it raises is said in one line; the import goes on.
        options: literals of Python alone.
        packed: the sources. Compiled code is kept in `__pycache__`, so that a start costs little.
    """

    name: str
    files: tuple[str, ...]
    start: str
    options: Mapping[str, Any]
    packed: str

    @property
    def package(self) -> str:
        return f"_tritonwin_{self.name}"


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A hook that lies in a target.

    Attributes:
        choice: the rules that it applies; None: it carries payloads alone.
        starts: the `.pth` that starts it is there.
        current: this tritonwin would write the same rules, with these payloads.
    """

    folder: Path
    tool: str
    choice: RuleChoice | None
    payloads: tuple[Payload, ...]
    starts: bool
    current: bool


# -- its content


def payload(
    name: str,
    package: str,
    parts: Collection[str],
    *,
    files: Collection[str],
    start: str,
    options: Mapping[str, Any] | None = None,
) -> Payload:
    """A payload of files and folders of a package of tritonwin.

    Args:
        package: "tritonwin.driver". Its name is replaced in the carried texts, so that they can
            import each other. They may import nothing else but the standard library.
        parts: relative to its folder, with slashes: "__init__.py", "launch.py", "structs".
        start: relative to the package: "launch:replace".
    """
    carried = f"_tritonwin_{name}"
    return Payload(
        name=name,
        files=tuple(files),
        start=f"{carried}.{start}",
        options=dict(options or {}),
        packed=_packed(package, parts, carried),
    )


def generate(choice: RuleChoice | None, payloads: Collection[Payload] = ()) -> dict[str, bytes]:
    """The contents of both files by their names; the hook first, so that nothing starts half."""
    template = files("tritonwin.patch.hook").joinpath("runtime.py").read_text("utf-8")
    rewritten = (*FILES, *DETOURS) if choice else ("backends/__init__.py",)
    concerned = (*rewritten, *(file for each in payloads for file in each.files))
    settings: dict[str, Any] = {
        "tool": __version__,
        "modules": {_module(file): file for file in concerned if file.endswith(".py")},
        "rewritten": tuple(dict.fromkeys(rewritten)),
        "choice": choice and (tuple(choice.only), choice.allow_unknown),
        "packages": {_RULES: _packed("tritonwin.patch", _RULES_PARTS, _RULES)}
        | {each.package: each.packed for each in payloads},
        "payloads": {
            each.name: {"files": each.files, "start": each.start, "options": each.options}
            for each in payloads
        },
    }
    settings["digest"] = hashlib.sha256(repr((template, settings)).encode()).hexdigest()
    hook = template.replace(_UNFILLED, f"{_SETTINGS}{settings!r}\n")
    return {HOOK: hook.encode(), HOOK_START: _START.encode()}


def _module(file: str) -> str:
    return "triton." + file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def _packed(package: str, parts: Collection[str], carried: str) -> str:
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
    elif path.endswith((".py", ".json")):
        yield path, place.read_text("utf-8")
    elif path.endswith("/rules.toml"):  # a target's Python may read no TOML
        rows = loads(place.read_text("utf-8"))["rule"]
        yield path.removesuffix(".toml") + ".json", json.dumps(rows)


# -- in a target


def find(target: Interpreter) -> Installed | None:
    """The hook that this Python would start, or could."""
    for folder in _folders(target):
        text = read_text(folder / HOOK)
        if text is None:
            continue
        tool, choice, payloads = _settings(text)
        return Installed(
            folder=folder,
            tool=tool,
            choice=choice,
            payloads=payloads,
            starts=is_file(folder / HOOK_START),
            current=text.encode() == generate(choice, payloads)[HOOK],
        )
    return None


def place(target: Interpreter) -> Path:
    """The folder that a hook for this Python belongs in.

    Raises:
        UserError: this Python starts no hook, or nothing may be written where it looks for one.
    """
    advice = _ON_DISK.format(python=target.executable)
    if target.pth is not None and not target.pth.import_site:
        raise UserError(
            f"{target.pth.path} keeps this Python from looking for .pth files, so that nothing "
            "could start the import hook",
            advice,
        )
    if target.site_loaded is False:
        raise UserError(
            f"{target.executable} does not load `site`, so that nothing could start the hook",
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
    journal: Journal,
    target: Interpreter,
    choice: RuleChoice | None,
    payloads: Collection[Payload] = (),
) -> tuple[Path, ...]:
    """Write the hook; the paths of its files. A hook that is there already is replaced.

    Raises:
        UserError: see `place`; JournalError where the system refuses.
    """
    there = find(target)
    folder = there.folder if there else place(target)
    contents = {folder / name: content for name, content in generate(choice, payloads).items()}
    for path, content in contents.items():
        journal.write(path, content)
    return tuple(contents)


def remove_payload(journal: Journal, target: Interpreter, name: str) -> tuple[Path, ...]:
    """Write the hook without that payload, or delete it if nothing else is in it; its files."""
    there = find(target)
    if there is None:
        return ()
    rest = tuple(each for each in there.payloads if each.name != name)
    if there.choice or rest:
        return write(journal, target, there.choice, rest)
    return delete(journal, there)


def delete(journal: Journal, there: Installed) -> tuple[Path, ...]:
    """Delete a hook; its files."""
    paths = tuple(there.folder / file for file in (HOOK_START, HOOK))
    for path in paths:
        if is_file(path):
            journal.delete(path)
    drop_kept(there.folder)
    return paths


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


def _settings(text: str) -> tuple[str, RuleChoice | None, tuple[Payload, ...]]:
    """Version, choice and payloads of a hook; an unreadable one counts as one with all rules."""
    line = next((line for line in text.split("\n") if line.startswith(_SETTINGS)), "")
    try:
        found = ast.literal_eval(line.removeprefix(_SETTINGS))
        choice = RuleChoice(*found["choice"]) if found["choice"] else None
        payloads = tuple(
            Payload(name=name, packed=found["packages"][f"_tritonwin_{name}"], **fields)
            for name, fields in found["payloads"].items()
        )
        return str(found["tool"]), choice, payloads
    except (ValueError, TypeError, LookupError, SyntaxError, RecursionError, MemoryError):
        return "?", RuleChoice(), ()

"""Patches Triton's sources for Windows while Python imports them. Written by `tritonwin patch`.

Started by the .pth file beside this one. No file of Triton is changed: the rules, which are
tritonwin's and are carried in this file, are applied to the text that the import reads, and what
came of it is kept in __pycache__. Give it back: tritonwin patch revert --import-time, or delete
this file and tritonwin-hook.pth.

    python -m _tritonwin_hook       what it did to Triton in this Python

TRITON_VERBOSE=1 makes it say what it patches. Python 3.9 or later, standard library alone.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Any

# tool (version), digest, modules (name -> file), only (ids of rules, none: all), allow_unknown,
# sources (tritonwin's rules and what they need, packed: path -> text)
SETTINGS: dict[str, Any] = {}  # filled in by generate.py

MARKER = b"tritonwin:"  # in each file that tritonwin patched on disk
_CARRIED = "_tritonwin_patch"

late = "triton" in sys.modules  # it was imported before this hook was there
done: dict[str, dict[str, Any]] = {}  # by file: what came of it in this process
_said: set[str] = set()


class Finder:
    """Finds the modules that rules are about, and hands all others on."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = SETTINGS["modules"].get(name)
        if file is None:
            return None
        try:
            spec = PathFinder.find_spec(name, path, target)
            return spec if spec is not None and _adopt(spec, file) else None
        except Exception as error:  # noqa: BLE001 - a finder that raises breaks the import
            _say(f"{name} is not patched: {error!r}")
            return None


class Loader(SourceFileLoader):
    """Compiles the patched text; the .pyc of the module is neither read nor written for it."""

    def __init__(self, name: str, path: str, file: str) -> None:
        super().__init__(name, path)
        self._file = file

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            code = _code(self._file, self.path, self.get_data(self.path))
        except Exception as error:  # noqa: BLE001 - unpatched is better than not imported
            _say(f"triton/{self._file} is not patched: {error!r}")
            code = None
        return super().get_code(fullname) if code is None else code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(_tritonwin_spec=spec_from_file, _tritonwin_c_source=c_source)
        super().exec_module(module)


def _adopt(spec: ModuleSpec, file: str) -> bool:
    """Give the module our loader, unless somebody else's loads it."""
    if type(spec.loader) is not SourceFileLoader:
        _say(f"triton/{file} is not patched: {type(spec.loader).__name__} loads it")
        return False
    path = spec.loader.path
    if not path.replace("\\", "/").endswith("/" + file):
        return False
    spec.loader = Loader(spec.name, path, file)
    return True


def spec_from_file(name: str, location: str, **more: Any) -> ModuleSpec | None:
    """`importlib.util.spec_from_file_location`, as Triton up to 3.3 loads its backends."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, location, **more)
    file = _relative(location)
    if spec is not None and file in SETTINGS["modules"].values():
        _adopt(spec, file)
    return spec


def c_source(path: str) -> str:
    """The path of a patched copy of a C source, or the path itself where there is nothing to do."""
    file = _relative(path)
    try:
        with open(path, "rb") as stream:
            return _c_copy(file, path, stream.read())
    except Exception as error:  # noqa: BLE001 - the compiler will say what is wrong
        _say(f"triton/{file} is not patched: {error!r}")
        return path


def _relative(path: str) -> str:
    """backends/NAME/FILE"""
    return "/".join(os.path.abspath(path).replace("\\", "/").split("/")[-3:])


# -- what is kept in __pycache__


def _code(file: str, path: str, data: bytes) -> Any:
    """The patched module; None where the file is to be loaded as it is."""
    if MARKER in data:
        return _result(file, (None, (), ""))
    import hashlib
    import marshal

    key = _key(file, path, data)
    kept = _kept(f"{file.replace('/', '.')[:-3]}.{sys.implementation.cache_tag}.bin")
    stored = _read(kept)
    if stored[:64] == key + hashlib.sha256(stored[64:]).digest():
        return _result(file, marshal.loads(stored[64:]))  # noqa: S302 - as trusted as a .pyc
    patched = _patch(file, path, data)
    content = marshal.dumps(patched)
    _write(kept, key + hashlib.sha256(content).digest() + content)
    return _result(file, patched)


def _c_copy(file: str, path: str, data: bytes) -> str:
    if MARKER in data:
        return path
    end = f"/* {_key(file, path, data).hex()} */\n".encode()
    kept = _kept(f"{end[3:19].decode()}.driver.c")
    if not _read(kept).endswith(end):
        text = _result(file, _patch(file, path, data))
        if text is None:
            return path
        content = text.encode("utf-8") + end
        if not _write(kept, content):
            kept = os.path.join(_scratch_folder(), "driver.c")
            _write(kept, content, always=True)
    return kept


def _key(file: str, path: str, data: bytes) -> bytes:
    import hashlib

    parts = (SETTINGS["digest"], file, path, _flavour(path, file), sys.version, sys.flags.optimize)
    return hashlib.sha256(repr(parts).encode() + data).digest()


def _kept(name: str) -> str:
    cached = __spec__.cached if __spec__ is not None else None
    folder = os.path.dirname(cached or os.path.join(os.path.dirname(__file__), "__pycache__", "_"))
    return os.path.join(folder, f"_tritonwin_hook.{name}")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return b""


def _write(path: str, content: bytes, always: bool = False) -> bool:
    """Whole or not at all; False where this process may not write there."""
    if sys.dont_write_bytecode and not always:
        return False
    aside = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(aside, "wb") as stream:
            stream.write(content)
        os.replace(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(aside)
        return False
    return True


def _scratch_folder() -> str:
    import atexit
    import shutil
    import tempfile

    atexit.register(shutil.rmtree, folder := tempfile.mkdtemp(), ignore_errors=True)
    return folder


# -- the rules


def _patch(file: str, path: str, data: bytes) -> Any:
    """Content, rules applied, what is wrong: see hook/apply.py of tritonwin, which is carried."""
    apply = _carried()
    choice = apply.Choice(SETTINGS["only"], SETTINGS["allow_unknown"])
    return apply.apply(file, path, data, _flavour(path, file), choice)


def _carried() -> Any:
    """tritonwin's module `patch.hook.apply`, out of the sources in this file."""
    import base64
    import importlib
    import json
    import zlib

    name = f"{_CARRIED}.hook.apply"
    if name in sys.modules:
        return importlib.import_module(name)  # waits where another thread imports it
    sources: dict[str, str] = json.loads(zlib.decompress(base64.b85decode(SETTINGS["sources"])))

    class Carried:
        @staticmethod
        def find_spec(name: str, *_: object) -> ModuleSpec | None:
            stem = name.replace(".", "/")
            for path, package in ((f"{stem}/__init__.py", True), (f"{stem}.py", False)):
                if path in sources:
                    spec = ModuleSpec(name, Carried, origin=path, is_package=package)  # type: ignore[arg-type]
                    spec.has_location = True
                    return spec
            return None

        @staticmethod
        def create_module(_: ModuleSpec) -> None:
            return None

        @staticmethod
        def exec_module(module: ModuleType) -> None:
            path = module.__file__ or ""
            exec(compile(sources[path], path, "exec"), module.__dict__)  # noqa: S102

        @staticmethod
        def get_data(path: str) -> bytes:
            return sources[path.replace("\\", "/")].encode("utf-8")

    sys.meta_path.insert(0, Carried)
    try:
        return importlib.import_module(name)
    finally:
        sys.meta_path.remove(Carried)


def _flavour(path: str, file: str) -> str:
    package = os.path.abspath(path)[: -len(file)]
    return "fork" if os.path.exists(os.path.join(package, "windows_utils.py")) else "upstream"


# -- what the user is told


def _result(file: str, patched: Any) -> Any:
    content, applied, wrong = patched
    done[file] = {"applied": list(applied), "wrong": wrong}
    if wrong:
        _say(f"triton/{file}: {wrong}")
    if applied and os.environ.get("TRITON_VERBOSE") == "1":
        _say(f"triton/{file} is patched: {', '.join(applied)}")
    return content


def _say(text: str) -> None:
    """Once a process, on the error stream; a window without a console has none."""
    if text not in _said and sys.stderr is not None:
        _said.add(text)
        sys.stderr.write(f"tritonwin: {text}\n")


def report() -> dict[str, Any]:
    return {"tool": SETTINGS["tool"], "digest": SETTINGS["digest"], "late": late, "files": done}


def main() -> None:
    import importlib
    import json

    # this file runs as __main__ now; what the .pth started is another module
    running = importlib.import_module("_tritonwin_hook")
    try:
        importlib.import_module("triton.backends")
    except Exception as error:  # noqa: BLE001 - to be told, like all else
        running._say(f"Triton cannot be imported: {error!r}")
    sys.stdout.write(json.dumps(running.report()) + "\n")


if __name__ == "__main__":
    main()
elif SETTINGS:
    sys.meta_path.insert(0, Finder())

"""Changes Triton while Python imports it. Written by tritonwin, started by the .pth beside it.

No file of Triton is changed. Rules for Windows (`tritonwin patch`) are applied to the text that the
import reads, and Triton's driver runs in Python (`tritonwin driver`). What came of the rules, and
compiled code, is kept in __pycache__. To remove it: `tritonwin patch revert` and `tritonwin driver
off`, or delete this file and tritonwin-hook.pth.

    python -m _tritonwin_hook       what it did to Triton in this Python

TRITON_VERBOSE=1 names what is patched. Python 3.9 or later, standard library alone. Nothing here
may break an import or a start: every failure leaves Triton as it is on disk, in one line on stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, ModuleType
    from typing import Any

# digest     of all that is written here
# modules    names of Triton's modules that concern the hook -> files below the package folder
# rewritten  files whose text the rules may change
# choice     (ids of rules, none: all; allow_unknown), or None: no rules are applied
# driver     files that the driver in Python is handed after they were executed; none: it is off
# packages   name -> what is carried, packed: path -> text
SETTINGS: dict[str, Any] = {}  # filled in by install.py

MARKER = b"tritonwin:"  # in each file that tritonwin patched on disk
DAMAGED = (
    "the import hook is damaged and changes nothing; write it again, or: tritonwin patch revert"
)

done: dict[str, Any] = {}  # by file: what the rules did in this process
adopted: dict[str, Any] = {}  # by file: "", or why it compiles its driver all the same
_said: set[str] = set()
_unpacked: dict[str, tuple[dict[str, str], dict[str, CodeType]]] = {}


class DamagedHookError(Exception):
    """The contents of this file are damaged."""


class Finder:
    """Finds the modules that concern the hook, and the packages that it carries."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        try:
            carried = name.partition(".")[0] in SETTINGS["packages"]
            file = SETTINGS["modules"].get(name)
        except Exception:  # noqa: BLE001 - a finder that raises breaks the import
            _say(DAMAGED)
            return None
        if carried:  # asked for by this file alone, which expects errors
            return CarriedLoader.spec(name)
        if file is None:
            return None
        try:
            # the finders after this one; those before it were asked
            for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
                find = getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = find(name, path, target) if find else None
                if spec is not None:
                    _adopt(spec, file)
                    return spec
        except Exception as error:  # noqa: BLE001
            _tell(f"{name} is not patched", error)
        return None


class Loader(SourceFileLoader):
    """Compiles the patched text; the .pyc of the module is neither read nor written for it."""

    def __init__(self, name: str, path: str, file: str) -> None:
        super().__init__(name, path)
        self._file = file

    def get_code(self, fullname: str) -> CodeType | None:
        code = None
        try:
            if self._file in SETTINGS["rewritten"]:
                code = _patched(self._file, self.path, self.get_data(self.path))
        except Exception as error:  # noqa: BLE001 - unpatched is better than not imported
            _tell(f"triton/{self._file} is not patched", error)
        return super().get_code(fullname) if code is None else code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(_tritonwin_spec=spec_from_file, _tritonwin_c_source=c_source)
        super().exec_module(module)
        _start_driver(self._file, module)


def _adopt(spec: ModuleSpec, file: str) -> None:
    """Give the module our loader, or watch somebody else's."""
    if not (spec.origin or "").replace("\\", "/").endswith("/" + file):
        return
    loader: Any = spec.loader
    if type(loader) is SourceFileLoader:
        spec.loader = Loader(spec.name, loader.path, file)
        return
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        if module.__name__ == spec.name:  # a loader may have several modules
            for record in (done, adopted):
                record.pop(file, None)
        execute(module)  # it may pass through our loader
        if module.__name__ != spec.name:
            return
        if SETTINGS["choice"] and file in SETTINGS["rewritten"] and file not in done:
            _say(f"triton/{file} is not patched: {type(loader).__name__} loads it")
        if file not in adopted:
            _start_driver(file, module)

    loader.exec_module = exec_module


def spec_from_file(name: str, location: str, **more: Any) -> ModuleSpec | None:
    """`importlib.util.spec_from_file_location`, as Triton up to 3.3 loads its backends."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, location, **more)
    try:
        file = _relative(location)
        if spec is not None and file in SETTINGS["modules"].values():
            _adopt(spec, file)
    except Exception as error:  # noqa: BLE001
        _tell(f"{name} is not patched", error)
    return spec


def c_source(path: str) -> str:
    """The path of a patched copy of a C source, or the path itself where there is nothing to do."""
    try:
        with open(path, "rb") as stream:
            text = _patched(_relative(path), path, stream.read())
        return path if text is None else _copy(text)
    except Exception as error:  # noqa: BLE001 - the compiler will say what is wrong
        _tell(f"{path} is not patched", error)
        return path


def _copy(text: str) -> str:
    import atexit
    import shutil
    import tempfile

    atexit.register(shutil.rmtree, folder := tempfile.mkdtemp(), ignore_errors=True)
    with open(os.path.join(folder, "driver.c"), "wb") as stream:
        stream.write(text.encode("utf-8"))
    return stream.name


def _relative(path: str) -> str:
    """backends/NAME/FILE"""
    return "/".join(os.path.abspath(path).replace("\\", "/").split("/")[-3:])


def _start_driver(file: str, module: ModuleType) -> None:
    """Let the driver in Python take over a module of Triton that was just executed."""
    if file not in SETTINGS["driver"]:
        return
    try:
        import importlib

        adopted[file] = importlib.import_module("_tritonwin_driver.adopt").adopt(module)
    except Exception as error:  # noqa: BLE001 - Triton's own way goes on
        adopted[file] = repr(error)
        _tell("Triton's driver does not run in Python", error)


# -- what is kept in __pycache__


def _patched(file: str, path: str, data: bytes) -> Any:
    """The patched code, or text of C; None where the file is to be used as it is."""
    if MARKER in data:
        return _result(file, (None, (), ""))
    parts = (file, path, _flavour(path, file), sys.flags.optimize)
    name = file.removesuffix(".py")
    return _result(file, _remembered(name, parts, data, lambda: _patch(file, path, data)))


def _remembered(name: str, parts: tuple[object, ...], data: bytes, make: Callable[[], Any]) -> Any:
    """The result of `make`, kept in a file; made again where anything that it rests on differs."""
    import hashlib
    import marshal

    whole = repr((SETTINGS["digest"], *parts, sys.version)).encode() + data
    key = hashlib.sha256(whole).digest()
    kept = _kept(f"{name.replace('/', '.')}.{sys.implementation.cache_tag}.bin")
    stored = _read(kept)
    if stored[:64] == key + hashlib.sha256(stored[64:]).digest():
        return marshal.loads(stored[64:])  # noqa: S302 - as trusted as a .pyc
    made = make()
    content = marshal.dumps(made)
    _write(kept, key + hashlib.sha256(content).digest() + content)
    return made


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


def _write(path: str, content: bytes) -> None:
    """Whole or not at all."""
    if sys.dont_write_bytecode:
        return
    aside = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(aside, "wb") as stream:
            stream.write(content)
        os.replace(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(aside)


# -- what is carried


def _patch(file: str, path: str, data: bytes) -> Any:
    """Content, rules applied, what is wrong: see hook/apply.py of tritonwin, which is carried."""
    import importlib

    try:
        apply = importlib.import_module("_tritonwin_patch.hook.apply")
    except Exception as error:
        raise DamagedHookError from error
    choice = SETTINGS["choice"] and apply.RuleChoice(*SETTINGS["choice"])
    return apply.apply(file, path, data, _flavour(path, file), choice)


class CarriedLoader:
    """Loads the packages whose sources are in this file."""

    @staticmethod
    def spec(name: str) -> ModuleSpec | None:
        codes = _package(name)[1]
        stem = name.replace(".", "/")
        for path, package in ((f"{stem}/__init__.py", True), (f"{stem}.py", False)):
            if path in codes:
                spec = ModuleSpec(name, CarriedLoader, origin=path, is_package=package)  # type: ignore[arg-type]
                spec.has_location = True
                return spec
        return None

    @staticmethod
    def create_module(_: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        exec(_package(module.__name__)[1][module.__file__ or ""], module.__dict__)  # noqa: S102

    @staticmethod
    def get_data(path: str) -> bytes:
        path = path.replace("\\", "/")
        return _package(path.replace("/", "."))[0][path].encode("utf-8")


def _package(name: str) -> tuple[dict[str, str], dict[str, CodeType]]:
    """The texts of a carried package and its compiled modules, by their paths."""
    package = name.partition(".")[0]
    if package not in _unpacked:
        try:
            packed: str = SETTINGS["packages"][package]
            _unpacked[package] = _remembered(package, (package,), b"", lambda: _unpack(packed))
        except Exception as error:
            raise DamagedHookError from error
    return _unpacked[package]


def _unpack(packed: str) -> tuple[dict[str, str], dict[str, CodeType]]:
    import base64
    import json
    import zlib

    texts: dict[str, str] = json.loads(zlib.decompress(base64.b85decode(packed)))
    codes = {
        path: compile(text, path, "exec", dont_inherit=True)
        for path, text in texts.items()
        if path.endswith(".py")
    }
    return texts, codes


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


def _tell(what: str, error: Exception) -> None:
    with contextlib.suppress(Exception):  # a repr may raise
        _say(DAMAGED if isinstance(error, DamagedHookError) else f"{what}: {error!r}"[:300])


def _say(text: str) -> None:
    """Once a process, on the error stream, which may be full, closed or missing."""
    if text in _said:
        return
    _said.add(text)
    with contextlib.suppress(Exception):
        line = f"tritonwin: {text}"
        raw = getattr(getattr(sys.stderr, "buffer", None), "raw", None)
        if raw is None:
            sys.stderr.write(f"{line}\n")
        else:
            # past the buffer: what a full disk refused would stay in it, and the exit status be 120
            sys.stderr.flush()
            raw.write((line + os.linesep).encode(sys.stderr.encoding, "backslashreplace"))


def start() -> Finder:
    """Take the place of what the .pth put before Python's finders."""
    early = [pair for pair in SETTINGS["modules"].items() if pair[0] in sys.modules]
    waiting = [f for f in sys.meta_path if getattr(f, "__name__", "") == "TritonwinStart"]
    at = sys.meta_path.index(waiting[0]) if waiting else 0
    sys.meta_path[at : at + len(waiting)] = [made := Finder()]
    for name, file in early:
        _start_driver(file, sys.modules[name])
    return made


def report() -> dict[str, Any]:
    for name, file in SETTINGS["modules"].items():
        if file in SETTINGS["driver"] and name in sys.modules:
            adopted.setdefault(file, "another import hook, which comes first, loads the module")
    return {"files": done, "driver": adopted}


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
    finder = start()

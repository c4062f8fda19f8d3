"""The part of Triton that its driver modules import, for tests that run no kernel.

The driver module itself, and `backends/driver.py` beside it, are a release's own.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    return module


def _package(name: str, folder: Path) -> ModuleType:
    return _module(name, __path__=[str(folder)])


class Allocator:
    """Scratch memory: records what was asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def get(self) -> Any:
        return self

    def __call__(self, size: int, align: int, stream: int) -> Any:
        self.asked.append([size, align, stream])
        return SimpleNamespace(data_ptr=lambda: 0x70000000, is_cuda=True)


def _find_paths_if(items: Any, wanted: Any) -> list[tuple[int, ...]]:
    """Paths of the leaves of nested tuples that `wanted(path, leaf)` holds for."""
    found: list[tuple[int, ...]] = []

    def look(path: tuple[int, ...], item: Any) -> None:
        if isinstance(item, (tuple, list)):
            for place, each in enumerate(item):
                look((*path, place), each)
        elif wanted(path, item):
            found.append(path)

    look((), list(items))
    return found


def _make_tensordesc_args(
    arguments: Any, signature: Any, paths: Any, metas: Any, base: Any, make: Any
) -> list[Any]:
    """The work of libtriton on descriptors that stand in no tuple."""
    left, made = iter(metas), []
    for place, argument in enumerate(arguments):
        made += make(argument, next(left), base) if place in paths else [argument]
    return made


def start(package: Path, backend: str, mode: str, gcc: Gcc) -> ModuleType:
    """The driver module of a Triton's package folder: compiled by gcc, or "python", by the payload."""

    def compiler(**more: Any) -> Any:
        if mode == "python":
            raise AssertionError(f"{more['name']} is compiled")
        return gcc(**more)

    module = _load(package, backend, compiler)
    if mode == "python":
        from tritonwin.driver import payload

        said = payload.adopt(module)
        assert not said, said
    return module


def activate(utils: Any) -> Any:
    """Triton's active driver, with these functions."""
    driver = sys.modules["triton.runtime.driver"]
    sys.modules["triton"].runtime.driver = driver
    driver.active.utils, driver.active.get_current_device = utils, lambda: 0
    return driver.active


class Tensor:
    """A pointer, as Triton's launcher takes it."""

    def __init__(self, address: Any, is_cuda: bool = True) -> None:
        self._address, self.is_cuda = address, is_cuda

    def data_ptr(self) -> Any:
        if isinstance(self._address, Exception):
            raise self._address
        return self._address


def launcher(kind: Any, signature: dict[Any, Any], constants: Any = None, **more: Any) -> Any:
    """A backend's launcher object for a signature."""
    ctas = more.get("ctas", 1)
    kernel = SimpleNamespace(
        constants=constants or {}, signature=signature,
        fn=SimpleNamespace(arg_names=[str(n) for n in signature], constexprs=()),
    )  # fmt: skip
    about = SimpleNamespace(
        num_ctas=ctas, cluster_dims=(ctas, 1, 1), warp_size=32, target=("hip", "gfx1100", 32),
        global_scratch_size=more.get("scratch", 0), global_scratch_align=16,
        profile_scratch_size=more.get("profile", 0), profile_scratch_align=32,
        launch_cooperative_grid=more.get("cooperative", False), launch_pdl=more.get("pdl", False),
        tensordesc_meta=more.get("meta"), instrumentation_mode="",
    )  # fmt: skip
    return kind(kernel, about)


class Record:
    """The results of calls, with the lines that the stand-in driver logged meanwhile."""

    def __init__(self, variable: str) -> None:
        self._log = Path(os.environ[variable])
        self.outcomes: list[Any] = []

    @property
    def size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def since(self, size: int) -> list[str]:
        return self._log.read_bytes()[size:].decode().splitlines() if self._log.exists() else []

    def attempt(self, name: str, call: Any) -> Any:
        before, result = self.size, None
        try:
            result = call()
            said = repr(result)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        self.outcomes.append([name, said, self.since(before)])
        return result


def _load(package: Path, backend: str, compile_c: Any) -> ModuleType:
    _package("triton", package)
    _package("triton.runtime", package / "runtime")
    _package("triton.backends", package / "backends")
    _package(f"triton.backends.{backend}", package / "backends" / backend)
    _package("triton._C", package)
    _module("triton._C.libtriton", make_tensordesc_args=_make_tensordesc_args, amd=None)
    _module("triton._C.libtriton.gsan_testing", PER_DEVICE_STATE_STRIDE_BYTES=1)
    _module("triton._instrumentation", is_enabled=lambda metadata, name: False)
    _module("triton._utils", find_paths_if=_find_paths_if, validate_block_shape=None)
    hip = os.environ.get("TRITON_LIBHIP_PATH")
    nothing = SimpleNamespace(libcuda_path=None, libhip_path=hip, override_arch=None)
    _module("triton.knobs", nvidia=nothing, amd=nothing, runtime=nothing)
    _module("triton.windows_utils", find_cuda=lambda: ("", [], []))
    _module("triton.backends.compiler", GPUTarget=tuple)
    scratch = {"_allocator": Allocator(), "_profile_allocator": Allocator()}
    _module("triton.runtime._allocation", has_profile_allocator=lambda: True, **scratch)
    _module("triton.runtime.cache", get_cache_manager=None)
    _module(
        "triton.runtime.build",
        _build=None,
        compile_module_from_src=compile_c,
        compile_module_from_file=lambda src_path, **more: compile_c(
            src=Path(src_path).read_text(), **more
        ),
    )
    _module("triton.runtime.driver", active=SimpleNamespace())
    _from_file("triton.backends.driver", package / "backends" / "driver.py")
    name = f"triton.backends.{backend}.driver"
    module = _from_file(name, package / "backends" / backend / "driver.py")
    if "_build" in vars(module):  # up to 3.3 it compiles by a function of its own
        module.compile_module_from_src = lambda src, name: compile_c(src=src, name=name)
    module.library_dirs = list
    return module


def _from_file(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)
    return module


class Gcc:
    """Compiles an extension module as Triton does, against a stand-in of the driver."""

    def __init__(self, folder: Path, includes: list[str], libraries: list[str]) -> None:
        self._folder, self._includes, self._libraries = folder, includes, libraries
        self._made: dict[str, ModuleType] = {}

    def __call__(self, src: str, name: str, **_: Any) -> ModuleType:
        if src in self._made:
            return self._made[src]
        folder = self._folder / str(len(self._made))
        folder.mkdir(parents=True)
        (folder / f"{name}.c").write_text(src)
        library = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        includes = [sysconfig.get_path("include"), *self._includes]
        done = subprocess.run(
            ["/usr/bin/gcc", str(folder / f"{name}.c"), "-O0", "-shared", "-fPIC", "-w", "-DNDEBUG",
             "-o", str(library), *(f"-I{each}" for each in includes), *self._libraries, "-lm"],
            check=False, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stderr)
        spec = importlib.util.spec_from_file_location(name, library)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._made[src] = module
        return module

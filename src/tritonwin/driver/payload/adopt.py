"""A backend's driver module gets functions in Python where it would compile C."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Sequence as AbstractSequence
from types import SimpleNamespace

from tritonwin.driver.payload import cuda, hip
from tritonwin.driver.payload.launch import Careful
from tritonwin.driver.payload.sources import UnknownDriverError, read_launcher, read_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

_LAUNCHER, _COMPILERS = "__triton_launcher", ("compile_module_from_src", "compile_module_from_file")


def adopt(module: ModuleType) -> str:
    """Put this package in the place of the C compiler in a backend's driver module.

    Returns:
        "" or why the module was left alone.
    """
    try:
        Backend(module).install()
    except UnknownDriverError as error:
        return str(error)
    except OSError as error:
        return f"driver.c cannot be read: {error}"
    return ""


class _Folders(AbstractSequence):  # type: ignore[type-arg]
    """Library folders that are searched for when somebody reads them: here nobody does."""

    def __init__(self, find: Callable[[], Sequence[str]]) -> None:
        self._find = find

    def __getitem__(self, place: Any) -> Any:
        return self._find()[place]

    def __len__(self) -> int:
        return len(self._find())


class Backend:
    """One backend's driver module, and what takes the place of its compiled parts.

    Raises:
        UnknownDriverError: it is not one of the forms that are known.
        OSError: its `driver.c` cannot be read.
    """

    def __init__(self, module: ModuleType) -> None:
        self._space: dict[str, Any] = vars(module)
        self._compiler = next((name for name in _COMPILERS if name in self._space), "")
        if not self._compiler:
            raise UnknownDriverError("it does not compile a module of C")
        folder = os.path.dirname(os.path.abspath(module.__file__ or ""))
        with open(os.path.join(folder, "driver.c"), encoding="utf-8") as file:
            text = file.read()
        self._amd = "HIPLauncher" in self._space
        self._c = read_module(text)
        self._maker: Any = hip if self._amd else cuda
        self._lock = threading.Lock()
        self._driver: Any | None = None
        self._utils: SimpleNamespace | None = None
        self._known_call = False

    def install(self) -> None:
        self._maker.check(self._c)
        make_launcher = self._space.get("make_launcher")
        if make_launcher is not None:
            self._try(make_launcher)
        elif "launch" not in self._c.functions:
            raise UnknownDriverError("neither driver.c nor a make_launcher launches")
        launcher = "HIPLauncher" if self._amd else "CudaLauncher"
        if not isinstance(self._space.get(launcher), type):
            raise UnknownDriverError(f"it has no class {launcher}")
        compile_in_c = self._space[self._compiler]

        def compile_module(*args: Any, **named: Any) -> Any:
            name = named.get("name") or (args[1] if len(args) > 1 else "")
            source = next((named[key] for key in ("src", "src_path") if key in named), args[:1])
            source = source if isinstance(source, str) else source[0]
            if name in ("cuda_utils", "hip_utils"):
                return self.utils(source)
            if name == _LAUNCHER:
                return self.launcher(source)
            return compile_in_c(*args, **named)

        self._space[self._compiler] = compile_module
        if "library_dirs" in self._space:
            find = self._space["library_dirs"]
            self._space["library_dirs"] = lambda: _Folders(find)
        self._space[launcher] = self._launcher_class(self._space[launcher])

    def _try(self, make_launcher: Callable[..., str]) -> None:
        """Read the launcher of a sample.

        Raises:
            UnknownDriverError: it has a form that is not known.
        """
        find = "_get_path_to_hip_runtime_dylib"  # which is only needed where a GPU of AMD is
        kept = self._space.get(find)
        try:
            if kept is not None:
                self._space[find] = lambda: "libamdhip64.so"
            text = make_launcher({}, _SAMPLE, *_more(make_launcher))
        except Exception as error:
            raise UnknownDriverError(f"make_launcher raises {error!r}") from error
        finally:
            if kept is not None:
                self._space[find] = kept
        read_launcher(text)

    def driver(self, source: str) -> Any:
        with self._lock:
            if self._driver is None:
                self._driver = (
                    hip.HipDriver(hip.library(source)) if self._amd else cuda.CudaDriver()
                )
            return self._driver

    def utils(self, source: str) -> SimpleNamespace:
        """A namespace in the place of the compiled functions.

        Args:
            source: the C text, or its path.
        """
        driver = self.driver(source)
        with self._lock:
            if self._utils is None:
                self._utils = self._maker.utils(self._c, driver)
            return self._utils

    def launcher(self, source: str) -> SimpleNamespace:
        careful = Careful(self.driver(source), read_launcher(source))
        launch = careful.function()
        launch.careful = careful  # type: ignore[attr-defined]
        return SimpleNamespace(launch=launch)

    def _launcher_class(self, original: type) -> type:
        """A launcher that is a plain function where the launcher object would add nothing.

        Triton calls the object for each launch: to ask for scratch memory, which most kernels
        do not need, and to repeat what does not change.
        """
        backend = self

        class Launcher(original):  # type: ignore[misc]
            def __new__(cls, src: Any, metadata: Any) -> Any:
                made = super().__new__(cls)
                if cls is Launcher:
                    original.__init__(made, src, metadata)  # type: ignore[misc]
                    return backend.direct(made) or made
                return made

            def __init__(self, src: Any, metadata: Any) -> None:
                if type(self) is not Launcher:
                    super().__init__(src, metadata)

        Launcher.__name__, Launcher.__qualname__ = original.__name__, original.__qualname__
        Launcher.__module__ = original.__module__
        called = set(original.__call__.__code__.co_names)
        self._known_call = called <= _CALLED
        return Launcher

    def direct(self, made: Any) -> Any:
        """A function for a launcher that passes its arguments on; None for any other."""
        state = vars(made)
        if not self._known_call or any(state.get(name) for name in _NOT_PLAIN):
            return None
        launch = state["launch"]
        if "kernel_signature" in state:
            if self._utils is None or launch is not self._utils.launch:
                return None  # it makes tensor maps of descriptors first
            careful = self._utils.careful(state["kernel_signature"], state["arg_annotations"])
        else:
            careful = getattr(launch, "careful", None)
        if careful is None:
            return None
        function = careful.direct({ours: state.get(name) for name, ours in _FLAGS.items()})
        vars(function).update(state)
        return function


# the attributes that a launcher object hands on to `launch`, and our names of them
_FLAGS = {
    "launch_cooperative_grid": "cooperative", "launch_pdl": "pdl", "warp_size": "warp_size",
    "arg_annotations": "annotations", "kernel_signature": "signature",
}  # fmt: skip
# a launcher with one of these does more than to pass arguments on
_NOT_PLAIN = ("global_scratch_size", "profile_scratch_size", "gsan_enabled")
# all that `__call__` of the known releases uses
_CALLED = {
    *_FLAGS, *_NOT_PLAIN, "launch", "num_ctas", "global_scratch_align", "profile_scratch_align",
    "_allocation", "_allocator", "_profile_allocator", "has_profile_allocator", "triton", "runtime",
    "driver", "active", "utils", "is_stream_capturing", "RuntimeError", "experimental", "gsan",
    "_stream_sync", "triton.experimental.gsan._allocator", "triton.experimental.gsan._stream_sync",
    "get_current_device", "get_device_rank", "get_global_state_pointer", "get_launch_state",
    "GSAN_PER_DEVICE_STATE_STRIDE", "synchronize_launch_stream",
}  # fmt: skip
_SAMPLE = {0: "*fp32", 1: "i32", 2: "fp32"}


def _more(make_launcher: Any) -> list[Any]:
    """Values for the arguments after constants and signature."""
    names = list(inspect.signature(make_launcher).parameters)[2:]
    return [32 if name == "warp_size" else {} if name == "ids" else None for name in names]

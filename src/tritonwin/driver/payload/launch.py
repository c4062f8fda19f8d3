"""Launch functions, one a signature, generated as Python source.

A launch function packs all arguments and the launch configuration by one `struct.pack_into` into
memory that was laid out before, and makes one call of the driver. Whatever is unusual (a hook, an
argument of another type, a tensor that is not on the GPU, an error) leaves it for `Careful`, which
does the same step by step, in the order and with the error texts of Triton's compiled launcher.
"""

from __future__ import annotations

import ctypes
import functools
import struct

from tritonwin.driver.payload.api import (
    as_address,
    as_double,
    as_long,
    as_long_long,
    as_unsigned_long,
    parse,
)
from tritonwin.driver.payload.descriptors import descriptor_bytes, map_bytes
from tritonwin.driver.payload.sources import Launcher, Leaf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tritonwin.driver.payload.sources import Nested

    Function = Callable[..., None]
    # metadata, function, cooperative, pdl, clusters, block and shared memory, memory,
    # and for the driver: configuration, function, parameters
    Entry = tuple[Any, Any, Any, Any, int, Any, Any, Any, Any, Any]

INVALID_VALUE = 1
_CONFIGURATION, _ATTRIBUTE = 56, 72  # bytes of CUlaunchConfig and of CUlaunchAttribute
_GIVEN = ("function", "cooperative", "pdl")  # compared by identity in the fast path
_ATTRIBUTE_IDS = {"cooperative": 2, "cluster": 4, "policy": 5, "pdl": 6}
# by the letter of `struct`: an argument's type in C, and Python's conversion to it
_KINDS: dict[str, tuple[Any, Any]] = {
    "B": (ctypes.c_uint8, as_unsigned_long), "b": (ctypes.c_int8, as_long),
    "H": (ctypes.c_uint16, as_unsigned_long), "h": (ctypes.c_int16, as_long),
    "I": (ctypes.c_uint32, as_unsigned_long), "i": (ctypes.c_int32, as_long),
    "Q": (ctypes.c_uint64, as_address), "q": (ctypes.c_int64, as_long_long),
    "f": (ctypes.c_float, as_double), "d": (ctypes.c_double, as_double),
    "e": (ctypes.c_uint16, as_double), "bf16": (ctypes.c_uint16, as_double),
    "128s": (ctypes.c_char * 128, None),
}  # fmt: skip


class ArgumentLayout:
    """The memory of one launch: arguments, configuration, attributes, pointers to arguments.

    Attributes:
        format: of arguments, grid, block and shared memory, and stream, which lie in a row.
        arguments_format: of arguments alone.
        arguments: offsets of the kernel's parameters.
        configuration: offset of CUlaunchConfig; its first fields end the row.
    """

    def __init__(self, codes: Sequence[str]) -> None:
        self.arguments: list[int] = []
        form, end = "<", 0
        for code in codes:
            size = ctypes.sizeof(_KINDS[code][0])
            pad = -end % size
            self.arguments.append(end + pad)
            form += f"{pad}x{'H' if code == 'bf16' else code}"
            end += pad + size
        pad = -end % 8
        self.configuration = end + pad
        self.arguments_format = form
        self.format = f"{form}{pad}x3I16s4xQ"
        self.attributes = self.configuration + _CONFIGURATION
        self.pointers = self.attributes + len(_ATTRIBUTE_IDS) * _ATTRIBUTE
        self.size = self.pointers + 8 * len(codes)
        self.aligned = any(code == "128s" for code in codes)


def codes_of(launcher: Launcher) -> list[str]:
    return [launcher.leaves[n].code for n in launcher.passed] + ["Q"] * len(launcher.scratch)


# -- the fast path

_TEMPLATE = """\
def launch({parameters}):
    try:
        if (enter_hook is not None and enter_hook.calls) or (
            exit_hook is not None and exit_hook.calls
        ) or not grid_x or not grid_y or not grid_z:
            raise unusual
{unpack}\
        entry = take()
        (known, handle, was_cooperative, was_pdl, clusters, block, memory,
         to_config, to_function, to_arguments) = entry
        if known is not metadata or handle is not function{compare}:
            raise unusual
        {pack}
    except Exception:
        entry = None
    if entry is None or call({call}):
        return careful({parameters})
    keep(entry)
"""
_CUDA_CALL = "to_config, to_function, to_arguments, None"
_HIP_CALL = (
    "to_function, grid_x, grid_y, grid_z, block, 1, 1, to_config, stream, to_arguments, None"
)


def generate(launcher: Launcher, *, direct: bool, configured: bool) -> str:
    """The source of a launch function.

    Args:
        direct: it is called as Triton calls a launcher object: without flags and scratch memory.
        configured: the driver takes a configuration (CUDA), not single arguments (HIP).
    """
    tops, unpack = _unpacking(launcher.nested)
    lines = [f"{names} = {value}" for names, value in unpack]
    if direct:
        parameters = [*(name for name in _DIRECT if name in launcher.names), *tops]
    else:
        parameters = list(launcher.names) if launcher.packed else [*launcher.names, *tops]
        if launcher.packed:
            lines.insert(0, f"{_tuple(tops)} = arguments" if tops else "() = arguments")
        lines += [
            f"{name} = 0 if {name} is None else {_POINTER.format(name)}"
            for name in launcher.scratch
            if name
        ]
    values = [_value(n, launcher.leaves[n]) for n in launcher.passed]
    values += ["0" if direct or not name else name for name in launcher.scratch]
    if configured:
        values += ["grid_x * clusters", "grid_y", "grid_z", "block", "stream"]
    flags = [name for name in ("cooperative", "pdl") if name in launcher.names and not direct]
    return _TEMPLATE.format(
        parameters=", ".join(parameters),
        unpack="".join(f"        {line}\n" for line in lines),
        compare="".join(f" or was_{name} is not {name}" for name in flags),
        pack=f"pack(memory, 0, {', '.join(values)})",
        call=_CUDA_CALL if configured else _HIP_CALL,
    )


_DIRECT = ("grid_x", "grid_y", "grid_z", "stream", "function", "metadata", "launch_metadata",
           "enter_hook", "exit_hook")  # fmt: skip
# a string where a number belongs: `pack_into` raises, and `careful` takes over
_POINTER = "({0}.data_ptr() if {0}.is_cuda else '')"


def _value(number: int, leaf: Leaf) -> str:
    name = f"a{number}"
    if leaf.kind == "pointer":
        return _POINTER.format(name)
    if leaf.kind == "map":
        return f"{name}._tritonwin_bytes" if leaf.parse == "nvTmaDesc" else f"map_bytes({name})"
    return f"bf16({name})" if leaf.code == "bf16" else name


def _unpacking(nested: Nested) -> tuple[list[str], list[tuple[str, str]]]:
    """Names of the arguments, and for those that are tuples the names inside."""
    names, unpack = [], []
    for place, item in enumerate(nested):
        if isinstance(item, tuple):
            names.append(f"t{place}")
            unpack.append((_inside(item), f"t{place}"))
        else:
            names.append(f"c{place}" if item is None else f"a{item}")
    return names, unpack


def _inside(item: Nested) -> str:
    return _tuple([
        _inside(each) if isinstance(each, tuple) else "_" if each is None else f"a{each}"
        for each in item
    ])  # fmt: skip


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)},)" if names else "()"


@functools.cache
def _compiled(source: str) -> Any:
    return compile(source, "<launch function of tritonwin>", "exec")


def bf16(value: float) -> int:
    """The bits of a bfloat16, cut off as Triton's launcher does it."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits >> 16


class UnusualError(Exception):
    """Leaves the fast path."""


# -- the careful path


def _stored(code: str, value: Any) -> Any:
    """A value that `struct` packs to the bits that C stores."""
    if code == "bf16":
        return bf16(ctypes.c_float(value).value)
    return value if code == "e" else _KINDS[code][0](value).value


class Careful:
    """Launches step by step.

    Args:
        driver: the `cuda` or the `hip` module's driver.
        launcher: how this signature is launched.
    """

    def __init__(self, driver: Any, launcher: Launcher) -> None:
        self._driver, self._launcher = driver, launcher
        self._configured: bool = driver.configured
        self._layout = ArgumentLayout(codes_of(launcher))
        self._whole = struct.Struct(self._layout.format).pack_into
        arguments = struct.Struct(self._layout.arguments_format).pack_into
        self._pack = self._whole if self._configured else arguments
        self._pool: list[Entry] = []

    def function(self) -> Function:
        """A launch function that is called as the compiled module's `launch`."""
        return self._function(self.launch, direct=False)

    def direct(self, flags: dict[str, Any]) -> Function:
        """A launch function that is called as a launcher object.

        Args:
            flags: "cooperative", "pdl", "annotations", "signature", "warp_size"; what is not
                there is None.
        """

        def launch(*given: Any) -> None:
            values = dict(flags)
            values.update(zip(_DIRECT, given))
            rest = given[len(_DIRECT) :]
            if self._launcher.packed:
                values["arguments"], rest = rest, ()
            self.launch(*(values.get(name) for name in self._launcher.names), *rest)

        return self._function(launch, direct=True)

    def _function(self, careful: Function, *, direct: bool) -> Function:
        source = generate(self._launcher, direct=direct, configured=self._configured)
        scope: dict[str, Any] = {
            "pack": self._pack,
            "take": self._pool.pop,
            "keep": self._pool.append,
            "call": self._driver.launch,
            "careful": careful,
            "unusual": UnusualError,
            "bf16": bf16,
            "map_bytes": map_bytes,
        }
        exec(_compiled(source), scope)  # noqa: S102 - our own source
        function: Function = scope["launch"]
        return function

    def launch(self, *given: Any) -> None:
        """The compiled module's `launch`."""
        launcher, driver = self._launcher, self._driver
        if launcher.ensure_context:
            driver.ensure_context()
        values, arguments, metadata = self._parsed(given)
        if values["enter_hook"] is not None:
            values["enter_hook"](values["launch_metadata"])
        if launcher.packed:
            arguments = list(_flattened(launcher.nested, arguments))
        packed = [self._leaf(n, arguments[n]) for n in launcher.passed]
        packed += [self._pointer(values[s], -1) if s else 0 for s in launcher.scratch]
        grid = tuple(values[name] for name in ("grid_x", "grid_y", "grid_z"))
        if driver.has_blocks(grid):
            self._launch(values, grid, metadata, packed)
        if values["exit_hook"] is not None:
            values["exit_hook"](values["launch_metadata"])

    def _parsed(self, given: tuple[Any, ...]) -> tuple[dict[str, Any], Any, dict[str, int]]:
        launcher = self._launcher
        row = parse(launcher.format, given)
        values = dict(zip(launcher.names, row))
        arguments = values["arguments"] if launcher.packed else row[len(launcher.names) :]
        try:
            metadata = parse("i" * len(launcher.metadata), values["metadata"])
        except (TypeError, SystemError):
            raise TypeError("kernel_metadata must be a tuple") from None
        # identity decides in the fast path: what was given, not what was parsed
        for name in _GIVEN:
            if name in launcher.names:
                values[f"given_{name}"] = given[launcher.names.index(name)]
        return values, arguments, dict(zip(launcher.metadata, metadata))

    def _leaf(self, number: int, value: Any) -> Any:
        leaf = self._launcher.leaves[number]
        if leaf.kind == "pointer":
            return self._pointer(value, number)
        if leaf.kind != "scalar":
            return descriptor_bytes(leaf, value)
        if self._launcher.packed:
            value = _KINDS[leaf.code][1](value)
        return _stored(leaf.code, value)

    def _pointer(self, value: Any, number: int) -> int:
        if value is None:
            return 0
        if isinstance(value, int):
            address: int = as_address(value)
            return address
        try:
            address = value.data_ptr()
        except Exception:  # noqa: BLE001 - as the compiled launcher has it
            raise TypeError(
                "Pointer argument must be either uint64 or have data_ptr method"
            ) from None
        if not isinstance(address, int):
            raise TypeError("data_ptr method of Pointer object must return 64-bit int")
        address = as_address(address)
        if not address:
            return 0
        status, found = self._driver.device_pointer(address)
        if status == INVALID_VALUE:
            where = "" if self._launcher.packed else f" (at {number})"
            raise ValueError(
                f"Pointer argument{where} cannot be accessed from Triton (cpu tensor?)"
            )
        self._driver.check(status)
        device: int = found
        return device

    def _launch(
        self,
        values: dict[str, Any],
        grid: tuple[int, ...],
        metadata: dict[str, int],
        packed: list[Any],
    ) -> None:
        """Make one launch, and keep its memory for the fast path where that can do the same."""
        layout, driver = self._layout, self._driver
        ctas, shared = metadata["ctas"], metadata["shared"]
        clusters = tuple(metadata.get(f"cluster_{axis}", 1) for axis in "xyz")
        if ctas == 1 or "cluster_x" not in metadata:
            clusters = (ctas, 1, 1)
        if self._launcher.sixteen and ctas == 16:
            driver.allow_large_clusters(values["function"])
        threads = (self._launcher.warp or values["warp_size"]) * metadata["warps"]
        block = struct.pack("<4I", threads, 1, 1, shared)
        sizes = [(n * c) & 0xFFFFFFFF for n, c in zip(grid, clusters)]
        memory, base = self._memory(self._attributes(values, clusters))
        self._whole(memory, 0, *packed, *sizes, block, values["stream"])
        configuration, function, parameters = (
            ctypes.c_void_p.from_param(place)
            for place in (base + layout.configuration, values["function"], base + layout.pointers)
        )
        given = [values.get(f"given_{name}") for name in _GIVEN]
        if self._configured:
            driver.check(driver.launch(configuration, function, parameters, None))
            entry = (values["metadata"], *given, ctas, block, memory, configuration)
            simple = clusters[1:] == (1, 1)
        elif ctas != 1:
            raise RuntimeError("clusters on AMD's GPUs need the compiled driver: driver off")
        else:
            simple = not values.get("cooperative")
            call = driver.launch if simple else driver.launch_cooperative
            rest = (shared, values["stream"], parameters, None)
            driver.check(call(function, *sizes, threads, 1, 1, *rest))
            entry = (values["metadata"], *given, ctas, threads, memory, shared)
        if simple:
            self._pool.append((*entry, function, parameters))

    def _attributes(
        self, values: dict[str, Any], clusters: tuple[int, ...]
    ) -> list[tuple[int, bytes]]:
        """Number and content of the attributes of a launch, in their order."""
        yes = b"\x01" + bytes(15)
        several = clusters != (1, 1, 1)
        contents = {
            "cluster": several and struct.pack("<3I4x", *clusters),
            "policy": several and yes,
            "cooperative": values.get("cooperative") and yes,
            "pdl": values.get("pdl") and yes,
        }
        wanted = ((name, contents[name]) for name in self._launcher.attributes)
        return [(_ATTRIBUTE_IDS[name], content) for name, content in wanted if content]

    def _memory(self, attributes: list[tuple[int, bytes]]) -> tuple[Any, int]:
        """Memory for one launch with all in place that does not change, and its address."""
        layout = self._layout
        whole = bytearray(layout.size + 128)
        start = ctypes.addressof(ctypes.c_char.from_buffer(whole))
        pad = -start % 128 if layout.aligned else 0
        base = start + pad
        memory: Any = memoryview(whole)[pad:] if layout.aligned else whole
        pointers = [base + offset for offset in layout.arguments]
        struct.pack_into(f"<{len(pointers)}Q", memory, layout.pointers, *pointers)
        for place, attribute in enumerate(attributes):
            at = layout.attributes + place * _ATTRIBUTE
            struct.pack_into("<I4x16s", memory, at, *attribute)
        where = base + layout.attributes
        struct.pack_into("<QI", memory, layout.configuration + 40, where, len(attributes))
        return memory, base


def _flattened(nested: Nested, arguments: Any) -> Iterator[Any]:
    """The arguments that are passed on, as 3.7's launcher takes tuples apart."""
    for item, value in zip(nested, arguments):
        if isinstance(item, tuple):
            yield from _flattened(item, value)
        elif item is not None:
            yield value

"""`cuda_utils` in Python: NVIDIA's driver through ctypes.

Numbers and structures are those of cuda.h. Which of the functions exist, and with which arguments,
the release's own `driver.c` says.
"""

from __future__ import annotations

import ctypes
import os
import struct
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from types import SimpleNamespace

from tritonwin.driver.payload.launch import Api, Careful, parse, type_name
from tritonwin.driver.payload.sources import (
    DriverSource,
    Leaf,
    UnknownDriverError,
    leaf_of,
    packed_launcher,
    packed_names,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_DEVICE_POINTER = 3  # of cuPointerGetAttribute
# of cuDeviceGetAttribute
_PROPERTIES = {
    "max_shared_mem": 97, "max_num_regs": 12, "multiprocessor_count": 16, "warpSize": 10,
    "sm_clock_rate": 13, "mem_clock_rate": 36, "mem_bus_width": 37,
}  # fmt: skip
_MAJOR, _MINOR, _SHARED_OPTIN, _SHARED_OVERSIZED, _SHARED_PER_SM = 75, 76, 97, 150, 81
# of cuFuncGetAttribute and cuFuncSetAttribute
_MAX_THREADS, _STATIC_SHARED, _LOCAL, _REGISTERS, _DYNAMIC_SHARED = 0, 1, 3, 4, 8
_LARGE_CLUSTERS, _SHARED_MODE, _OVERSIZED_SHARED = 14, 17, 3
_PREFER_SHARED, _PRINTF_FIFO, _CLUSTER_DIMENSION = 1, 1, 4
_USUAL_SHARED = 48 * 1024
_SHARED_ABOVE = "CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE"

_SIGNATURES: dict[str, Sequence[Any]] = {
    "cuGetErrorString": (c_int, c_void_p),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDeviceGetAttribute": (c_void_p, c_int, c_int),
    "cuCtxGetCurrent": (c_void_p,),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxGetDevice": (c_void_p,),
    "cuCtxGetLimit": (c_void_p, c_int),
    "cuCtxSetLimit": (c_int, c_size_t),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuModuleLoadData": (c_void_p, c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "cuFuncGetAttribute": (c_void_p, c_int, c_void_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuFuncSetCacheConfig": (c_void_p, c_int),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuDriverGetVersion": (c_void_p,),
    "cuStreamIsCapturing": (c_void_p, c_void_p),
    "cuOccupancyMaxActiveClusters": (c_void_p, c_void_p, c_void_p),
    "cuTensorMapEncodeTiled": (c_void_p, c_int, c_uint, c_uint64, c_void_p, c_void_p, c_void_p,
                               c_void_p, c_int, c_int, c_int, c_int),
    "cuTensorMapEncodeIm2col": (c_void_p, c_int, c_uint, c_uint64, c_void_p, c_void_p, c_void_p,
                                c_void_p, c_uint, c_uint, c_void_p, c_int, c_int, c_int, c_int),
}  # fmt: skip


def library() -> Any:
    """NVIDIA's driver.

    Raises:
        RuntimeError: it is not there.
    """
    folder = os.environ.get("TRITON_LIBCUDA_PATH", "")
    if os.name == "nt":
        # from Windows' own folder alone, where the driver's installer puts it
        return _load("nvcuda.dll", winmode=0x800)
    beside = os.path.join(folder, "libcuda.so.1")
    return _load(beside if folder and os.path.exists(beside) else "libcuda.so.1")


def _load(name: str, **mode: Any) -> Any:
    try:
        return ctypes.CDLL(name, **mode)
    except OSError as error:
        raise RuntimeError(f"Failed to open {os.path.basename(name)}: {error}") from None


class TensorMap:
    """CUtensorMap, 128 bytes; what `fill_tma_descriptor` returns from 3.5 on."""

    __slots__ = ("_tritonwin_bytes",)

    def __init__(self) -> None:
        self._tritonwin_bytes = bytes(128)


TensorMap.__name__ = TensorMap.__qualname__ = "PyCUtensorMap"
TensorMap.__module__ = "triton.backends.nvidia"


class KernelArgument:
    """How an argument is taken apart: PyKernelArg of 3.7 on."""

    __slots__ = ("nested_tuple", "type")

    def __init__(self, nested_tuple: Any, type: int = 0) -> None:  # noqa: A002 - Triton's name
        self.nested_tuple, self.type = nested_tuple, type


KernelArgument.__name__ = KernelArgument.__qualname__ = "PyKernelArg"
KernelArgument.__module__ = "triton.backends.nvidia"
CONSTEXPR, KERNEL, TUPLE = 0, 1, 2


class CudaDriver(Api):
    """The driver's functions as a launch needs them."""

    configured = True
    signatures = _SIGNATURES
    lacks = f"Failed to retrieve {{}} from {'nvcuda.dll' if os.name == 'nt' else 'libcuda.so.1'}"

    def __init__(self, loaded: Any | None = None) -> None:
        super().__init__(loaded or library())
        # neither types nor errors are looked at in the call that counts
        self.launch = self.named("cuLaunchKernelEx")

    def error_text(self, status: int) -> str:
        text = c_char_p()
        self.status("cuGetErrorString", status, byref(text))
        return (text.value or f"unknown error {status}".encode()).decode(errors="replace")

    def failure(self, status: int) -> str:
        return f"Triton Error [CUDA]: {self.error_text(status)}"

    def attribute(self, which: int, device: int) -> int:
        return self.integer("cuDeviceGetAttribute", which, device)

    def ensure_context(self, device: int | None = None) -> None:
        """Make a device's primary context current where this thread has none."""
        if not self.integer("cuCtxGetCurrent", cell=c_void_p):
            if device is None:
                device = self.integer("cuDeviceGet", 0)
            self.use_device(device)

    def use_device(self, device: int) -> None:
        context = self.integer("cuDevicePrimaryCtxRetain", device, cell=c_void_p)
        self("cuCtxSetCurrent", context)

    def device_pointer(self, address: int) -> tuple[int, int]:
        """The result of asking for the device's address, and that address."""
        found = c_uint64()
        status = self.status("cuPointerGetAttribute", byref(found), _DEVICE_POINTER, address)
        return status, found.value

    def allow_large_clusters(self, function: int) -> None:
        self("cuFuncSetAttribute", function, _LARGE_CLUSTERS, 1)

    @staticmethod
    def has_blocks(grid: Sequence[int]) -> bool:
        return grid[0] * grid[1] * grid[2] > 0

    @staticmethod
    def descriptor(leaf: Leaf, value: Any) -> bytes:
        """The bytes of a tensor map.

        Raises:
            TypeError, ValueError: `value` holds none.
        """
        if leaf.parse != "nvTmaDesc":
            return map_bytes(value)
        if type(value) is not TensorMap:
            raise TypeError(f"object must be of type PyCUtensorMap, got {type_name(value)}")
        return value._tritonwin_bytes

    @staticmethod
    def map_bytes(value: Any) -> bytes:
        return map_bytes(value)


def map_bytes(value: Any) -> bytes:
    """The tensor map that `tma_desc_cpu_ptr` of 3.2 to 3.4 points to.

    Raises:
        TypeError, ValueError, SystemError: it points to none.
    """
    method = getattr(value, "tma_desc_cpu_ptr", None)
    if method is None:
        raise TypeError("tma_desc_cpu_ptr() method does not exist")
    try:
        address = method()
    except Exception:  # noqa: BLE001 - as the compiled launcher has it
        raise SystemError("Internal Python error!") from None
    if not isinstance(address, int):
        raise TypeError("tma_desc_cpu_ptr() must return 64-bit int")
    if not address:
        raise ValueError("received NULL ptr from tma_desc_cpu_ptr()")
    if address % 64:
        raise ValueError("tma_desc_cpu_ptr() must be 64-byte aligned")
    return ctypes.string_at(address, 128)


class Signature(bytes):
    """`build_signature_metadata` returns it from 3.7 on: the leaves and their launch function."""

    leaves: tuple[Leaf, ...]
    careful: Careful | None = None
    annotations: Any = None
    function: Any = None


class Packed:
    """The functions of a `driver.c` that launches, as it does from 3.7 on."""

    def __init__(self, module: DriverSource, driver: Any) -> None:
        self._module, self._text, self._driver = module, module.text, driver

    def build_signature_metadata(self, *args: Any) -> Signature:
        (types,) = parse("O", args)
        leaves = tuple(leaf_of(each, self._module) for each in types)
        signature = Signature(len(leaves))
        signature.leaves = leaves
        return signature

    def careful(self, signature: Signature, annotations: Any) -> Careful:
        """The launches of one signature; kept with it."""
        if signature.careful is None or signature.annotations is not annotations:
            nested = _nested(annotations, iter(range(len(signature.leaves))))
            launcher = packed_launcher(self._module, signature.leaves, nested)
            signature.careful = Careful(self._driver, launcher)
            signature.annotations = annotations
            signature.function = signature.careful.function()
        return signature.careful

    def launch(self, *args: Any) -> None:
        names = packed_names(self._module)
        if len(args) != len(names):
            raise TypeError(f"function takes exactly {len(names)} arguments ({len(args)} given)")
        annotations, signature = args[-3], args[-2]
        if type(signature) is not Signature:
            raise TypeError(f"a bytes-like object is required, not '{type_name(signature)}'")
        if signature.annotations is not annotations:
            self.careful(signature, annotations)
        signature.function(*args)


class CudaUtils(Packed):
    """The functions of `cuda_utils`, as Triton calls them."""

    # -- devices

    def get_device_properties(self, *args: Any) -> dict[str, int]:
        (number,) = parse("i", args)
        driver = self._driver
        device = self._device(number)
        numbers = dict(_PROPERTIES)
        if "MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK" in self._text:
            capability = (driver.attribute(_MAJOR, device), driver.attribute(_MINOR, device))
            if capability == (10, 7):
                numbers["max_shared_mem"] = _SHARED_OVERSIZED
        return {name: driver.attribute(which, device) for name, which in numbers.items()}

    def _device(self, number: int) -> int:
        found = c_int(number)
        self._driver.status("cuDeviceGet", byref(found), number)  # the next call says what is wrong
        return found.value

    def get_device_capability(self, *args: Any) -> tuple[int, int]:
        (number,) = parse("i", args)
        device = self._driver.integer("cuDeviceGet", number)
        return self._driver.attribute(_MAJOR, device), self._driver.attribute(_MINOR, device)

    def get_current_device(self, *args: Any) -> int:
        parse("", args)
        self._driver.ensure_context()
        device: int = self._driver.integer("cuCtxGetDevice")
        return device

    def set_current_device(self, *args: Any) -> None:
        self._driver.use_device(*parse("i", args))

    def get_default_stream(self, *args: Any) -> int:
        self._driver.use_device(*parse("i", args))
        return 0

    def is_stream_capturing(self, *args: Any) -> bool:
        (stream,) = parse("K", args)
        status = c_int()
        self._driver("cuStreamIsCapturing", stream, byref(status))
        return status.value != 0

    def set_printf_fifo_size(self, *args: Any) -> None:
        (size,) = parse("l", args)
        if size < 0:
            raise ValueError("fifo size must be non-negative")
        self._driver.ensure_context(0)
        # setting it after a kernel printed is an error, also where nothing changes
        if self._driver.integer("cuCtxGetLimit", _PRINTF_FIFO, cell=c_size_t) != size:
            self._driver("cuCtxSetLimit", _PRINTF_FIFO, size)

    # -- kernels

    def load_binary(self, *args: Any) -> tuple[int, ...]:
        name, data, shared, device = parse("sOii", args)
        if isinstance(data, str):
            data = data.encode()
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"a bytes-like object is required, not '{type(data).__name__}'")
        driver = self._driver
        driver.ensure_context(device)
        module = driver.integer("cuModuleLoadData", bytes(data), cell=c_void_p)
        function = driver.integer("cuModuleGetFunction", module, name, cell=c_void_p)
        registers, local = self._of(function, _REGISTERS), self._of(function, _LOCAL)
        threads = self._of(function, _MAX_THREADS)
        self._allow_shared(function, shared, device)
        found = (module, function, registers, local // 4, threads)
        return found if '"(KKiii)"' in self._text else found[:4]

    def _of(self, function: int, which: int) -> int:
        found: int = self._driver.integer("cuFuncGetAttribute", which, function)
        return found

    def _allow_shared(self, function: int, shared: int, device: int) -> None:
        driver = self._driver
        optin = driver.attribute(_SHARED_OPTIN, device)
        if shared <= _USUAL_SHARED or optin <= _USUAL_SHARED:
            return
        if _SHARED_ABOVE in self._text and not driver.status(
            "cuFuncSetAttribute", function, _SHARED_MODE, _OVERSIZED_SHARED
        ):
            return
        driver("cuFuncSetCacheConfig", function, _PREFER_SHARED)
        driver.attribute(_SHARED_PER_SM, device)
        own = self._of(function, _STATIC_SHARED)
        driver("cuFuncSetAttribute", function, _DYNAMIC_SHARED, optin - own)

    def unload_module(self, *args: Any) -> None:
        self._driver("cuModuleUnload", *parse("K", args))

    def cuOccupancyMaxActiveClusters(self, *args: Any) -> int:  # noqa: N802 - Triton's name
        function, shared, *cluster = parse(
            self._module.functions["cuOccupancyMaxActiveClusters"], args
        )
        x, y, z = (*cluster, 1, 1)[:3]
        self._driver("cuFuncSetAttribute", function, _DYNAMIC_SHARED, shared)
        attribute = ctypes.create_string_buffer(
            struct.pack(
                "<I4x3I52x", _CLUSTER_DIMENSION, x & 0xFFFFFFFF, y & 0xFFFFFFFF, z & 0xFFFFFFFF
            )
        )
        configuration = struct.pack(
            "<7I4xQQI4x", x & 0xFFFFFFFF, y & 0xFFFFFFFF, z & 0xFFFFFFFF, 128, 1, 1,
            shared & 0xFFFFFFFF, 0, ctypes.addressof(attribute), 1,
        )  # fmt: skip
        self._driver("cuFuncSetAttribute", function, _LARGE_CLUSTERS, 1)
        active: int = self._driver.integer("cuOccupancyMaxActiveClusters", function, configuration)
        return active

    # -- tensor maps

    def fill_1d_tma_descriptor(self, *args: Any) -> None:
        address, dim, box, size, target = self._fill_arguments("fill_1d_tma_descriptor", args)
        self._encode(target, address, [dim], [dim * size], [box], size, swizzle=0, promotion=0)

    def fill_2d_tma_descriptor(self, *args: Any) -> None:
        address, outer, inner, box_outer, box_inner, size, target = self._fill_arguments(
            "fill_2d_tma_descriptor", args
        )
        width = size * box_inner
        # the convention between Triton's code generation and this function
        swizzle = 3 if width >= 128 else 2 if width >= 64 else 1
        box = [min(box_inner, 128 // size) if size in (1, 2, 4) else box_inner, box_outer]
        strides = [inner * size, inner * outer * size]
        self._encode(target, address, [inner, outer], strides, box, size, swizzle, promotion=2)

    def _fill_arguments(self, name: str, args: tuple[Any, ...]) -> list[Any]:
        form = self._module.functions[name]
        if not form.endswith("y*"):
            return parse(form, args)
        *row, target = parse(form.replace("y*", "O"), args)
        return [*row, ctypes.addressof(ctypes.c_char.from_buffer(target))]

    def _encode(
        self, target: int, address: int, dims: list[int], strides: list[int], box: list[int],
        size: int, swizzle: int, promotion: int,
    ) -> None:  # fmt: skip
        if size not in (1, 2, 4):
            raise ValueError("elementSize must be 1, 2, or 4")
        kind = {1: 0, 2: 1, 4: 2}[size]
        self._driver(
            "cuTensorMapEncodeTiled", target, kind, len(dims), address, _u64(dims), _u64(strides),
            _u32(box), _u32([1] * len(dims)), 0, swizzle, promotion, 0,
        )  # fmt: skip

    def fill_tma_descriptor(self, *args: Any) -> TensorMap | None:
        if self._module.functions["fill_tma_descriptor"][:2] == "KK":  # 3.4: into given memory
            target, *row = parse("KKiiiOOO", args)
            self._tiled(target, [*row, 0])
            return None
        return self.fill_tma_descriptor_tiled(*args)

    def fill_tma_descriptor_tiled(self, *args: Any) -> TensorMap:
        row = parse("KiiiOOOi", args)
        memory = _aligned(128)
        shape, strides = self._tiled(_address(memory), row)
        if "desc_u64[1]" in self._text:
            _clear_wide_index(memory, self._driver, shape, strides, row[2])
        return _tensor_map(memory)

    def _tiled(self, target: int, row: list[Any]) -> tuple[list[int], list[int]]:
        address, swizzle, size, kind, block, shape, strides, padding = row
        box = _reversed(block, "blockSize", "block size", None)
        dims = _reversed(shape, "shape", "shape", len(box))
        steps = _reversed(strides, "strides", "shape", len(box), 1)
        lengths = _strides(dims, steps, size)
        status = self._driver.status(
            "cuTensorMapEncodeTiled", target, kind, len(box), address, _u64(dims), _u64(lengths),
            _u32(box), _u32([1] * len(box)), 0, swizzle, 2, 1 if padding == 1 else 0,
        )  # fmt: skip
        if status and "Failed to create tensor map descriptor" not in self._text:
            self._driver.check(status)
        if status:
            shown = lengths if "i + 2 < rank" not in self._text else lengths[:-1]
            fill = f" fill={1 if padding == 1 else 0}" if "fill=%d" in self._text else ""
            raise RuntimeError(
                f"Triton Error [CUDA]: Failed to create tensor map descriptor: "
                f"{self._driver.error_text(status)}\n"
                f"elemType={kind} rank={len(box)} global_address=0x{address:x} elemSize={size} "
                f"swizzle={swizzle} padding={padding}\n"
                f"shape={dims}\nstrides={shown}\nblockSize={box} "
                f"elementStrides={[1] * len(box)}{fill}\n"
            )
        return dims, lengths

    def fill_tma_descriptor_im2col(self, *args: Any) -> TensorMap:
        row = parse(self._module.functions["fill_tma_descriptor_im2col"], args)
        address, swizzle, size, kind, block, shape, strides, padding, low, high, *rest = row
        dims = _reversed(shape, "shape", "shape", None)
        box = _reversed(block, "blockSize", "block size", None)
        if len(rest) == 1 and len(box) != 2:  # 3.7 has both numbers as arguments
            raise RuntimeError("blockSize must have exactly 2 dimensions for im2col")
        if len(sequence(strides, "strides")) != len(dims):
            raise RuntimeError(
                f"Rank mismatch for strides in fillTMADescriptorIm2col: shape has rank "
                f"{len(dims)} but strides has {len(strides)} elements. "
                f"Expected strides to have {len(dims)} elements."
            )
        lengths = _strides(dims, _reversed(strides, "strides", "strides", len(dims), 1), size)
        lower = _corner(low, "pixelBoxLower")
        if len(lower) > 5:
            raise RuntimeError("Pixel box rank too large (max 5)")
        upper = _corner(high, "pixelBoxUpper")
        if len(lower) != len(upper):
            raise RuntimeError("Pixel box corner rank mismatch")
        steps = _corner(rest[-1], "elementStrides")
        if len(steps) != len(dims):
            raise RuntimeError("elementStrides length must match tensor rank")
        channels, pixels = rest[:2] if len(rest) == 3 else box
        memory = _aligned(128)
        status = self._driver.status(
            "cuTensorMapEncodeIm2col", _address(memory), kind, len(dims), address, _u64(dims),
            _u64(lengths), _i32(lower), _i32(upper), channels, pixels, _u32(steps), 0, swizzle, 2,
            1 if padding == 1 else 0,
        )  # fmt: skip
        if status:
            raise RuntimeError(
                f"Triton Error [CUDA]: Failed to create im2col tensor map descriptor: "
                f"{self._driver.error_text(status)}\n"
                f"elemType={kind} rank={len(dims)} global_address=0x{address:x} elemSize={size} "
                f"swizzle={swizzle} padding={padding} channelsPerPixel={channels} "
                f"pixelsPerColumn={pixels}\n"
                f"shape={dims}\nstrides={lengths}\nblockSize={box}\n"
                f"pixelBoxLower={lower} pixelBoxUpper={upper}\nelementStrides={steps}\n"
            )
        return _tensor_map(memory)


def _nested(annotations: Any, numbers: Any) -> Any:
    return tuple(
        _nested(each.nested_tuple, numbers) if each.type == TUPLE
        else next(numbers) if each.type == KERNEL else None
        for each in annotations
    )  # fmt: skip


def sequence(value: Any, name: str) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} must be a sequence") from None


def _reversed(value: Any, name: str, item: str, rank: int | None, skip_last: int = 0) -> list[int]:
    """The integers of a sequence, the last one first.

    Raises:
        TypeError, RuntimeError: it is no sequence of integers, or not of `rank` ones.
    """
    items = sequence(value, name)
    if rank is not None and len(items) != rank:
        raise RuntimeError("Rank mismatch")
    return integers(items[: len(items) - skip_last], item)[::-1]


def integers(items: Sequence[Any], name: str) -> list[int]:
    """Plain integers; TypeError where one is of another type."""
    if not all(isinstance(each, int) for each in items):
        raise TypeError(f"{name} must be an int")
    return [int(each) for each in items]


def _corner(value: Any, name: str) -> list[int]:
    items = sequence(value, name)
    if not all(isinstance(each, int) for each in items):
        raise TypeError(f"{name} elements must be int")
    return [int(each) for each in items[::-1]]


def _strides(dims: list[int], steps: list[int], size: int) -> list[int]:
    """Strides in bytes; the last one, of the whole tensor, is not asked for."""
    lengths = [size * step for step in steps]
    return [*lengths, dims[-1] * (lengths[-1] if lengths else size)]


def _clear_wide_index(
    memory: Any, driver: CudaDriver, dims: list[int], lengths: list[int], size: int
) -> None:
    """Work around drivers up to CUDA 13.1, as Triton does: small tensors take a narrow index."""
    last = sum((dim - 1) * step for dim, step in zip(dims, [size, *lengths]))
    if driver.integer("cuDriverGetVersion") <= 13010 and last + 1 < 128 * 1024:
        (word,) = struct.unpack_from("<Q", memory, 8)
        struct.pack_into("<Q", memory, 8, word & ~(1 << 21))


def _aligned(size: int) -> Any:
    whole = bytearray(size + 128)
    return memoryview(whole)[-_address(whole) % 128 :][:size]


def _address(memory: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _tensor_map(memory: Any) -> TensorMap:
    found = TensorMap()
    found._tritonwin_bytes = bytes(memory)
    return found


def _u64(values: list[int]) -> Any:
    return (c_uint64 * len(values))(*values)


def _u32(values: list[int]) -> Any:
    return (c_uint * len(values))(*values)


def _i32(values: list[int]) -> Any:
    return (c_int * len(values))(*values)


# the formats of each function that are understood here
_KNOWN: dict[str, tuple[str, ...]] = {
    "load_binary": ("ss#ii",),
    "unload_module": ("K",),
    "get_device_properties": ("i",),
    "get_device_capability": ("i",),
    "get_current_device": ("",),
    "set_current_device": ("i",),
    "get_default_stream": ("i",),
    "is_stream_capturing": ("K",),
    "cuOccupancyMaxActiveClusters": ("Kiiii", "Kii"),
    "set_printf_fifo_size": ("l",),
    "fill_1d_tma_descriptor": ("KKiiy*", "KKiiK"),
    "fill_2d_tma_descriptor": ("KKKiiiy*", "KKKiiiK"),
    "fill_tma_descriptor": ("KKiiiOOO", "KiiiOOOi", "KiiiOOO"),
    "fill_tma_descriptor_tiled": ("KiiiOOOi",),
    "fill_tma_descriptor_im2col": ("KiiiOOOiOOO", "KiiiOOOiOOiiO"),
    "build_signature_metadata": ("O",),
    "launch": ("iiiKKpp(iii)OOOOOOy*O",),
}


def check(module: DriverSource) -> None:
    """Check that each function of a `driver.c` is known here.

    Raises:
        UnknownDriverError: one is not.
    """
    for name, form in module.functions.items():
        if form not in _KNOWN.get(name, ()):
            raise UnknownDriverError(f"{name} in driver.c parses {form!r}")


def utils(module: DriverSource, driver: CudaDriver) -> SimpleNamespace:
    """A namespace in the place of the compiled `cuda_utils`.

    Raises:
        UnknownDriverError: see `check`.
    """
    check(module)
    found = CudaUtils(module, driver)
    names = {name: getattr(found, name) for name in module.functions}
    return SimpleNamespace(
        **names, careful=found.careful, PyCUtensorMap=TensorMap, PyKernelArg=KernelArgument,
        ARG_CONSTEXPR=CONSTEXPR, ARG_KERNEL=KERNEL, ARG_TUPLE=TUPLE,
    )  # fmt: skip

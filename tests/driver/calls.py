"""Calls of a release's driver, compiled by gcc or in Python: what came of each, as JSON.

    python calls.py nvidia|amd PACKAGE compiled|python SCRATCH LIBRARY

LIBRARY is the stand-in of the driver. Run twice, the output and the stand-in's log must be the same.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # an embedded Python does not
import stubs
from stubs import Tensor

backend, package, mode = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
scratch, library = Path(sys.argv[4]), sys.argv[5]
AMD = backend == "amd"
if AMD:
    os.environ.update(TRITON_LIBHIP_PATH=library, FAKEHIP_SELF=library)
folder = package / "backends" / backend
gcc = stubs.Gcc(scratch, [str(folder / "include")], [] if AMD else [library])
module = stubs.start(package, backend, mode, gcc)
record = stubs.Record("FAKEHIP_LOG" if AMD else "FAKECUDA_LOG")
utils = module.HIPUtils() if AMD else module.CudaUtils()
active = stubs.activate(utils)
if AMD:
    module.HIPDriver = type(active)
text = Path(module.__file__ or "").read_text()
c_text = (folder / "driver.c").read_text()
packed = hasattr(utils, "launch")
make_launcher = getattr(module, "make_launcher", None)
nested = packed or '"constexpr"' in text  # tuples came with 3.3
six = make_launcher is not None and "clusterDimX" in text
# a data_ptr that raises, of NVIDIA up to 3.4, or is not there, of AMD up to 3.6, crashes the compiled one
crashes = not packed if AMD else "PyObject_CallMethodNoArgs" not in text and not packed
HOST, PINNED = 0x6C0000000000, 0x6D0000000000


def attempt(name: str, call: Any) -> Any:
    made = record.attempt(name, call)
    if AMD and packed:  # its compiled launcher names an argument by a number that it was not given
        record.outcomes[-1][1] = re.sub(r" \(at -?\d+\)", "", record.outcomes[-1][1])
    # a tensor map is refused in words of the compiled one's own
    if name.startswith(("map", "im2col", "a wrong")) and "Error: " in record.outcomes[-1][1]:
        record.outcomes[-1][1] = "refused"
    return made


def launcher(signature: Any, constants: Any = None, **more: Any) -> Any:
    kind = module.HIPLauncher if AMD else module.CudaLauncher
    return stubs.launcher(kind, signature, constants, **more)


def kernel(sizes: list[int]) -> int:
    image = f"PARAMETERS {' '.join(map(str, [*sizes, *SCRATCH]))}\0".encode()
    return int(utils.load_binary("kernel", image, 0, 0)[1])


def metadata(warps: int = 4, ctas: int = 1, shared: int = 0) -> Any:
    return (warps, ctas, shared, *((ctas, 1, 1) if six else ()))


sample = launcher({0: "*fp32"})
both = hasattr(sample, "profile_scratch_size")
SCRATCH = [8] * (2 if packed or both else 1 if hasattr(sample, "global_scratch_size") else 0)


class Chain:
    """Triton's chain of hooks."""

    def __init__(self, *calls: Any) -> None:
        self.calls = list(calls)

    def __call__(self, metadata: Any) -> None:
        for call in self.calls:
            call(metadata)


def run(
    name: str, signature: Any, sizes: Any, values: Any, grid: Any = (3, 2, 1), stream: int = 0,
    hooks: Any = (None, None), md: Any = None, repeat: int = 3, constants: Any = None, **more: Any,
) -> None:  # fmt: skip
    """Launch it several times: the first launch prepares, the others take the fast path."""
    signature = dict(enumerate(signature))
    attempt(f"{name}: launcher", lambda: launcher(signature, constants, **more) and None)
    made = launcher(signature, constants, **more)
    function, about = kernel(sizes), md or metadata(ctas=more.get("ctas", 1))
    words = (*grid, stream, function, about, "about", *hooks, *values)
    for count in range(repeat):
        attempt(f"{name} {count}", lambda: made(*words))


# -- numbers and pointers
one = 4 if packed or (six and 'int8_t",\n        "i8' not in text) else 1
scalars = {
    "i1": (one, [0, 1, True]), "u1": (4 if packed else 1, [0, 1, False]),
    "i8": (1, [0, 127, 5]), "i16": (2, [-1, -32768, 32767]), "i32": (4, [-1, 2**31 - 1, -(2**31)]),
    "i64": (8, [-1, 2**63 - 1, 1 << 40]), "u8": (1, [0, 255, 7]), "u16": (2, [0, 65535, 9]),
    "u32": (4, [0, 2**32 - 1, 3]), "u64": (8, [0, 2**64 - 1, 1 << 50]),
    "fp32": (4, [0.1, -0.0, 1e300]), "f32": (4, [float("inf"), float("nan"), 3]),
    "fp64": (8, [0.1, -1e300, 2]),
}  # fmt: skip
if packed or "pack_fp16" in text:
    scalars.update(fp16=(2, [0.1, -65504.0, 1e-8]), bf16=(2, [0.1, 1e300, -3]))
for kind, (size, values) in scalars.items():
    for value in values:
        run(f"{kind} {value!r}", [kind], [size], [value], repeat=2)
for kind, bad in [
    ("i32", 2**31), ("i32", "x"), ("i32", 1.5), ("i32", None), ("i64", 2**63), ("i64", "x"),
    ("i16", 40000), ("u32", -1), ("u64", -1), ("u8", 300), ("u16", "x"), ("fp32", "x"),
    ("fp64", None), ("fp64", 10**400), ("i8", "x"), ("*fp32", Tensor(HOST + 64, False)),
    *([] if AMD and crashes else [("*fp32", "x"), ("*fp32", 1.5), ("*fp32", Tensor("x"))]),
    *([] if crashes else [("*fp32", Tensor(ValueError("no")))]),
]:  # fmt: skip
    said = bad._address if isinstance(bad, Tensor) else bad
    run(f"wrong {kind} {said!r}", [kind], [scalars.get(kind, (8,))[0]], [bad], repeat=2)
run("second pointer on the host", ["*fp32", "*fp32"], [8, 8], [Tensor(16), Tensor(HOST, False)])
run("pointers", ["*fp32", "*i8", "*fp16", "*fp32", "*u8"], [8] * 5,
    [Tensor(1 << 40), Tensor(0), 4096, None, Tensor(PINNED, False)])  # fmt: skip
run("no arguments", [], [], [])
run("70 arguments", ["*fp32", "i32"] * 35, [8, 4] * 35, [Tensor(256), 7] * 35)
run("mixed", ["*fp32", "i32", "fp32", "i64", "u8"], [8, 4, 4, 8, 1],
    [Tensor(512), -5, 0.5, 1 << 33, 9])  # fmt: skip

# -- streams, grids, forms of arguments, attributes
run("streams", ["i32"], [4], [1], stream=0xABCDEF0012345678)
for grid in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (2**31 - 1, 1, 1), (5, 6, 7)]:
    run(f"grid {grid}", ["i32"], [4], [1], grid=grid)
run("grid of a float", ["i32"], [4], [1], grid=(1.5, 1, 1))
if make_launcher and not nested:
    run("constants", ["*fp32", "i32", "i32"], [8, 4], [Tensor(64), 1, 9], constants={1: 1})
if nested:
    run("constexpr", ["*fp32", "constexpr", "i32"], [8, 4], [Tensor(64), "anything", 9])
    run("tuples", [("i32", "*fp32"), "i64", ("fp32", ("i8", "constexpr"), ("u16",))],
        [4, 8, 8, 4, 1, 2], [(1, Tensor(32)), 2, (0.5, (3, None), (4,))])  # fmt: skip
    run("a wrong tuple", [("i32", "i32")], [4, 4], [5])
run("metadata", ["i32"], [4], [1], md=metadata(8, 1, 65536))
if not AMD:  # its gfx1250 alone has them
    for ctas in (2, 16):
        run(f"clusters of {ctas}", ["*fp32"], [8], [Tensor(8)], ctas=ctas)
if hasattr(sample, "launch_cooperative_grid"):
    run("cooperative", ["i32"], [4], [1], cooperative=True)
    if not AMD:
        run("cooperative clusters", ["i32"], [4], [1], cooperative=True, ctas=2)
if hasattr(sample, "launch_pdl"):
    run("pdl", ["i32"], [4], [1], pdl=True)
    run("pdl, cooperative, clusters", ["i32"], [4], [1], pdl=True, cooperative=True, ctas=4)
if hasattr(sample, "global_scratch_size"):
    allocation = sys.modules["triton.runtime._allocation"]
    if six and not both:
        allocation._allocator.get = None
    run("scratch", ["i32"], [4], [1], scratch=128)
    run("profile scratch", ["i32"], [4], [1], profile=64)
    asked = [allocation._allocator.asked, allocation._profile_allocator.asked]
    record.outcomes.append(["scratch asked", asked, []])

# -- hooks
calls: list[Any] = []
note = calls.append


def fail(metadata: Any) -> None:
    raise KeyError(metadata)


for name, hooks, value in (
    ("hooks", (note, note), 1),
    ("chains", (Chain(note), Chain(note, note)), 1),
    ("empty chains", (Chain(), Chain()), 1),
    ("hook fails", (fail, note), 1),
    ("last hook fails", (note, fail), 1),
    ("hook of nothing", (note, note), "x"),
):
    run(name, ["i32"], [4], [value], hooks=hooks)
record.outcomes.append(["hooks called", calls, []])

# -- threads without a context of their own, and many launches at once
made = launcher({0: "i32", 1: "*fp32"})
function = kernel([4, 8])
failures: list[Any] = []


def many(first: int) -> None:
    try:
        for number in range(first, first + 50):
            made(1, 1, 1, 0, function, metadata(), None, None, None, number, Tensor(number))
    except Exception as error:
        failures.append(repr(error))


if packed or "ensureCudaContext" in text:
    before = record.size
    threads = [threading.Thread(target=many, args=(50 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record.outcomes.append(["threads", failures, sorted(record.since(before))])

# -- the other functions
IMAGE = b"PARAMETERS\0"
if "R0000" not in c_text:
    attempt("properties", lambda: utils.get_device_properties(0))
    attempt("properties of no device", lambda: utils.get_device_properties(7 if AMD else "x"))
if AMD:
    attempt("load", lambda: utils.load_binary("kernel", IMAGE, 0, 0)[2:])
    json.dump(record.outcomes, sys.stdout, default=repr)
    sys.exit()
attempt("load", lambda: len(utils.load_binary("kernel", IMAGE, 0, 0)))
attempt("load, much shared memory", lambda: utils.load_binary("kernel", IMAGE, 65536, 0)[2:])
attempt("load, wrong", lambda: utils.load_binary("kernel", IMAGE, "x", 0))
attempt("fifo", lambda: utils.set_printf_fifo_size(1 << 20))
attempt("fifo below zero", lambda: utils.set_printf_fifo_size(-1))
cluster = (2,)
if (six or packed or "clusterDim" in text) and "Kiiii" in c_text:
    cluster = (2, 1, 1)
attempt("occupancy", lambda: utils.cuOccupancyMaxActiveClusters(function, 1024, *cluster))
for name in ("get_current_device", "get_default_stream", "set_current_device",
             "get_device_capability", "is_stream_capturing"):  # fmt: skip
    if call := getattr(utils, name, None):
        words = [] if name == "get_current_device" else [0]
        attempt(name, lambda call=call, words=words: call(*words))
        attempt(f"{name}, wrong", lambda call=call: call("x"))
if hasattr(utils, "unload_module"):
    attempt("unload", lambda: utils.unload_module(utils.load_binary("k", IMAGE, 0, 0)[0]))

# -- tensor maps
tiled = getattr(utils, "fill_tma_descriptor_tiled", getattr(utils, "fill_tma_descriptor", None))
into = (ctypes.c_char * 256)()
at = ctypes.addressof(into) + -ctypes.addressof(into) % 128
fills = [
    (0x1000, 3, 2, 6, [64, 32], [128, 256], [256, 1], 0),
    (0x1000, 0, 4, 7, [64], [100], [1], 1),
    (0x2000, 2, 1, 0, [4, 8, 16], (7, 8, 9), (72, 9, 1), 1),
    (0x2000, 2, 1, 0, [4], [7, 8], [8, 1], 1), (0x2000, 2, 1, 0, ["x"], [7], [1], 1),
    (0x2000, 2, 1, 0, 5, [7], [1], 1), (0x2000, 2, 1, 0, [4], ["x"], [1], 1),
    (0x2000, 2, 1, 0, [4, 4], [4, 4], ["x", 1], 1), ("x", 2, 1, 0, [4], [7], [1], 1),
    (0x10, 3, 2, 6, [1] * 4, [9] * 4, [1] * 4, 0),
]  # fmt: skip


def filled(fill: Any, *words: Any) -> bytes:
    """The map that a function writes to an address."""
    fill(*words)
    return ctypes.string_at(at, 128)


for number, fill in enumerate(fills if tiled else []):
    if not packed and "KKiiiOOO" in c_text:
        ctypes.memset(at, 0, 128)
        attempt(f"map {number}", lambda fill=fill: filled(tiled, at, *fill[:-1]))
    else:
        attempt(f"map {number}", lambda fill=fill: tiled(*fill) and None)
        try:
            tensor_map = tiled(*fill)
        except Exception:
            continue
        run(f"map {number} as an argument", ["nvTmaDesc", "i32"], [128, 4], [tensor_map, 5])
if packed or "PyCUtensorMap" in text:
    run("a wrong map", ["nvTmaDesc"], [128], [5])
    run("a wrong map", ["nvTmaDesc"], [128], [Tensor(5)])
elif "tma_desc_cpu_ptr" in text:
    ctypes.memset(at, 7, 128)
    for place in (at, 0, 8, "x"):
        given = SimpleNamespace(tma_desc_cpu_ptr=lambda place=place: place)
        shown = "its address" if place == at else place
        run(f"map at {shown}", ["nvTmaDesc", "i32"], [128, 4], [given, 5])
    run("a wrong map", ["nvTmaDesc"], [128], [5])
if hasattr(utils, "fill_1d_tma_descriptor"):
    target: Any = bytearray(128) if "KKiiy*" in c_text else at

    def plain(fill: Any, *words: Any) -> bytes:
        found = filled(fill, *words, target)
        return found if target == at else bytes(target)

    attempt("map of one dimension", lambda: plain(utils.fill_1d_tma_descriptor, 4096, 128, 64, 2))
    for inner in (16, 32, 64, 200):
        words = (4096, 9, 512, 8, inner, 2)
        attempt(f"map of two dimensions, {inner}",
                lambda words=words: plain(utils.fill_2d_tma_descriptor, *words))  # fmt: skip
if hasattr(utils, "fill_tma_descriptor_im2col"):
    more = () if 'KiiiOOOiOOO"' in c_text else (16, 32)
    tensor = (4096, 3, 2, 6, [32, 16], [2, 8, 8, 16], [1024, 128, 16, 1], 0)
    for low, high, steps in [([0, -1], [1, 2], [1] * 4), ([0], [1, 2], [1] * 4),
                             ([0, 1], [1, 2], [1]), (["x"], [1], [1] * 4),
                             (5, [1], [1] * 4)]:  # fmt: skip
        words = (*tensor, low, high, *more, steps)
        fill = utils.fill_tma_descriptor_im2col
        attempt(f"im2col {low}", lambda fill=fill, words=words: fill(*words) and None)
        if low == [0, -1]:
            run("im2col as an argument", ["nvTmaDesc"], [128], [fill(*words)])

json.dump(record.outcomes, sys.stdout, default=repr)

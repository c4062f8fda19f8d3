"""Calls of a release's driver, compiled by gcc or in Python: what came of each, as JSON.

    python calls.py PACKAGE compiled|python SCRATCH LIBCUDA

Run twice, the output and the stand-in driver's log must be the same.
"""

from __future__ import annotations

import ctypes
import functools
import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # an embedded Python does not
import stubs
from stubs import Tensor

package, mode, scratch, libcuda = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
gcc = stubs.Gcc(scratch, [str(package / "backends" / "nvidia" / "include")], [libcuda])


module = stubs.start(package, "nvidia", mode, gcc)
record = stubs.Record("FAKECUDA_LOG")
outcomes, attempt = record.outcomes, record.attempt


class Chain:
    """Triton's chain of hooks."""

    def __init__(self, *calls: Any) -> None:
        self.calls = list(calls)

    def __call__(self, metadata: Any) -> None:
        for call in self.calls:
            call(metadata)


HOST, PINNED = 0x6C0000000000, 0x6D0000000000
utils = module.CudaUtils()
stubs.activate(utils)
packed = hasattr(utils, "launch")
make_launcher = getattr(module, "make_launcher", None)
text = Path(module.__file__ or "").read_text()
nested = packed or '"constexpr"' in text  # tuples came with 3.3
six = make_launcher is not None and "clusterDimX" in text
# up to 3.4 a data_ptr that raises crashes the compiled launcher
crashes = make_launcher is not None and "PyObject_CallMethodNoArgs" not in text


def metadata(warps: int = 4, ctas: int = 1, shared: int = 0) -> Any:
    return (warps, ctas, shared, *((ctas, 1, 1) if six else ()))


def kernel(sizes: list[int]) -> int:
    image = f"PARAMETERS {' '.join(map(str, sizes))}\0".encode()
    return int(utils.load_binary("kernel", image, 0, 0)[1])


launcher = functools.partial(stubs.launcher, module.CudaLauncher)
sample = launcher({0: "*fp32"})
SCRATCH = [8] * (2 if packed or hasattr(sample, "profile_scratch_size")
                 else 1 if hasattr(sample, "global_scratch_size") else 0)  # fmt: skip


def run(
    name: str, signature: Any, sizes: Any, values: Any, grid: Any = (3, 2, 1), stream: int = 0,
    hooks: Any = (None, None), md: Any = None, repeat: int = 3, constants: Any = None, **more: Any,
) -> None:  # fmt: skip
    """Launch it several times: the first launch prepares, the others take the fast path."""
    made = attempt(
        f"{name}: launcher",
        lambda: launcher(dict(enumerate(signature)), constants, **more) and None,
    )
    made = launcher(dict(enumerate(signature)), constants, **more)
    function = kernel([*sizes, *SCRATCH])
    about = md or metadata(ctas=more.get("ctas", 1))
    for count in range(repeat):
        attempt(
            f"{name} {count}",
            lambda: made(*grid, stream, function, about, "about", *hooks, *values),
        )


scalars = {
    "i1": (4 if packed or (six and "int8_t\",\n        \"i8" not in text) else 1, [0, 1, True]),
    "i8": (1, [0, 127, 5]), "i16": (2, [-1, -32768, 32767]), "i32": (4, [-1, 2**31 - 1, -(2**31)]),
    "i64": (8, [-1, 2**63 - 1, 1 << 40]), "u1": (4 if packed else 1, [0, 1, False]),
    "u8": (1, [0, 255, 7]), "u16": (2, [0, 65535, 9]), "u32": (4, [0, 2**32 - 1, 3]),
    "u64": (8, [0, 2**64 - 1, 1 << 50]), "fp32": (4, [0.1, -0.0, 1e300]),
    "f32": (4, [float("inf"), float("nan"), 3]), "fp64": (8, [0.1, -1e300, 2]),
}  # fmt: skip
if packed or "pack_fp16" in text:
    scalars.update(fp16=(2, [0.1, -65504.0, 1e-8]), bf16=(2, [0.1, 1e300, -3]))
for kind, (size, values) in scalars.items():
    for value in values:
        run(f"{kind} {value!r}", [kind], [size], [value], repeat=2)
for kind, bad in [
    ("i32", 2**31), ("i32", "x"), ("i32", 1.5), ("i32", None), ("i64", 2**63), ("i64", "x"),
    ("i16", 40000), ("u32", -1), ("u64", -1), ("u8", 300), ("u16", "x"), ("fp32", "x"),
    ("fp64", None), ("fp64", 10**400), ("i8", "x"), ("*fp32", "x"), ("*fp32", 1.5),
    ("*fp32", Tensor("x")), ("*fp32", Tensor(HOST + 64, False)),
    *([] if crashes else [("*fp32", Tensor(ValueError("no")))]),
]:  # fmt: skip
    run(
        f"wrong {kind} {bad if not isinstance(bad, Tensor) else bad._address!r}",
        [kind],
        [scalars.get(kind, (8,))[0]],
        [bad],
        repeat=2,
    )
run("second pointer on the host", ["*fp32", "*fp32"], [8, 8], [Tensor(16), Tensor(HOST, False)])
run("pointers", ["*fp32", "*i8", "*fp16", "*fp32", "*u8"], [8] * 5,
    [Tensor(1 << 40), Tensor(0), 4096, None, Tensor(PINNED, False)])  # fmt: skip
run("no arguments", [], [], [])
run("70 arguments", ["*fp32", "i32"] * 35, [8, 4] * 35, [Tensor(256), 7] * 35)
run(
    "mixed",
    ["*fp32", "i32", "fp32", "i64", "u8"],
    [8, 4, 4, 8, 1],
    [Tensor(512), -5, 0.5, 1 << 33, 9],
)
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
run("more metadata", ["i32"], [4], [1], md=metadata(1, 1, 240 * 1024))
for ctas in (2, 16):
    run(f"clusters of {ctas}", ["*fp32"], [8], [Tensor(8)], ctas=ctas)
if hasattr(sample, "launch_cooperative_grid"):
    run("cooperative", ["i32"], [4], [1], cooperative=True)
    run("cooperative clusters", ["i32"], [4], [1], cooperative=True, ctas=2)
if hasattr(sample, "launch_pdl"):
    run("pdl", ["i32"], [4], [1], pdl=True)
    run("pdl, cooperative, clusters", ["i32"], [4], [1], pdl=True, cooperative=True, ctas=4)
if hasattr(sample, "global_scratch_size"):
    allocation = sys.modules["triton.runtime._allocation"]
    if six and not hasattr(sample, "profile_scratch_size"):
        allocation._allocator.get = None
    run("scratch", ["i32"], [4], [1], scratch=128)
    run("profile scratch", ["i32"], [4], [1], profile=64)
    outcomes.append(
        ["scratch asked", [allocation._allocator.asked, allocation._profile_allocator.asked], []]
    )

calls: list[Any] = []


def note(metadata: Any) -> None:
    calls.append(metadata)


def fail(metadata: Any) -> None:
    raise KeyError(metadata)


run("hooks", ["i32"], [4], [1], hooks=(note, note))
run("chains", ["i32"], [4], [1], hooks=(Chain(note), Chain(note, note)))
run("empty chains", ["i32"], [4], [1], hooks=(Chain(), Chain()))
run("hook fails", ["i32"], [4], [1], hooks=(fail, note))
run("last hook fails", ["i32"], [4], [1], hooks=(note, fail))
run("hook of nothing", ["i32"], [4], ["x"], hooks=(note, note))
outcomes.append(["hooks called", calls, []])

# -- threads without a context of their own, and many launches at once
made = launcher({0: "i32", 1: "*fp32"})
function = kernel([4, 8, *SCRATCH])
about = metadata()
failures: list[Any] = []


def many(first: int) -> None:
    try:
        for number in range(first, first + 50):
            made(1, 1, 1, 0, function, about, None, None, None, number, Tensor(number))
    except Exception as error:
        failures.append(repr(error))


if packed or "ensureCudaContext" in text:
    before = record.size
    threads = [threading.Thread(target=many, args=(50 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes.append(["threads", failures, sorted(record.since(before))])

# -- the other functions
attempt("properties", lambda: utils.get_device_properties(0))
attempt("properties of nothing", lambda: utils.get_device_properties("x"))
attempt("load", lambda: len(utils.load_binary("kernel", b"PARAMETERS\0", 0, 0)))
attempt(
    "load, much shared memory", lambda: utils.load_binary("kernel", b"PARAMETERS\0", 65536, 0)[2:]
)
attempt("load, wrong", lambda: utils.load_binary("kernel", b"PARAMETERS\0", "x", 0))
attempt("fifo", lambda: utils.set_printf_fifo_size(1 << 20))
attempt("fifo below zero", lambda: utils.set_printf_fifo_size(-1))
cluster = (2, 1, 1) if six or not (packed or "clusterDim" not in text) else (2,)
if "Kiiii" not in (package / "backends/nvidia/driver.c").read_text():
    cluster = (2,)
attempt("occupancy", lambda: utils.cuOccupancyMaxActiveClusters(function, 1024, *cluster))
for name in ("get_current_device", "get_default_stream", "set_current_device", "get_device_capability",
             "is_stream_capturing"):  # fmt: skip
    if hasattr(utils, name):
        attempt(
            name,
            lambda name=name: getattr(utils, name)(*([] if name == "get_current_device" else [0])),
        )
        attempt(f"{name}, wrong", lambda name=name: getattr(utils, name)("x"))
if hasattr(utils, "unload_module"):
    attempt("unload", lambda: utils.unload_module(utils.load_binary("k", b"PARAMETERS\0", 0, 0)[0]))

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
    (0x1000, 3, 2, 6, [], [], [], 0), (0x10, 3, 2, 6, [1] * 4, [9] * 4, [1] * 4, 0),
]  # fmt: skip
for number, fill in enumerate(fills if tiled else []):
    if not packed and "KKiiiOOO" in (package / "backends/nvidia/driver.c").read_text():
        if fill[4] == []:
            continue
        ctypes.memset(at, 0, 128)
        attempt(
            f"map {number}", lambda fill=fill: (tiled(at, *fill[:-1]), ctypes.string_at(at, 128))[1]
        )
    elif fill[4] != []:
        made_map = attempt(f"map {number}", lambda fill=fill: tiled(*fill) and None)
        try:
            made_map = tiled(*fill)
        except Exception:
            continue
        run(f"map {number} as an argument", ["nvTmaDesc", "i32"], [128, 4], [made_map, 5])
if packed or "PyCUtensorMap" in text:
    run("a wrong map", ["nvTmaDesc"], [128], [5])
    run("a wrong map", ["nvTmaDesc"], [128], [Tensor(5)])
elif "tma_desc_cpu_ptr" in text:
    ctypes.memset(at, 7, 128)
    given = SimpleNamespace(tma_desc_cpu_ptr=lambda: at)
    run("map by its address", ["nvTmaDesc", "i32"], [128, 4], [given, 5])
    for wrong in (0, 8, "x"):
        run(
            f"map at {wrong}",
            ["nvTmaDesc"],
            [128],
            [SimpleNamespace(tma_desc_cpu_ptr=lambda wrong=wrong: wrong)],
        )
    run("a wrong map", ["nvTmaDesc"], [128], [5])
if hasattr(utils, "fill_1d_tma_descriptor"):
    form = (package / "backends/nvidia/driver.c").read_text()
    target: Any = bytearray(128) if "KKiiy*" in form else at
    shown = (lambda: bytes(target)) if "KKiiy*" in form else (lambda: ctypes.string_at(at, 128))
    attempt(
        "map of one dimension",
        lambda: (utils.fill_1d_tma_descriptor(4096, 128, 64, 2, target), shown())[1],
    )
    for inner in (16, 32, 64, 200):
        attempt(f"map of two dimensions, {inner}",
                lambda inner=inner: (utils.fill_2d_tma_descriptor(4096, 9, 512, 8, inner, 2, target), shown())[1])  # fmt: skip
if hasattr(utils, "fill_tma_descriptor_im2col"):
    more = () if 'KiiiOOOiOOO"' in (package / "backends/nvidia/driver.c").read_text() else (16, 32)
    for low, high, steps in [([0, -1], [1, 2], [1, 1, 1, 1]), ([0], [1, 2], [1] * 4), ([0, 1], [1, 2], [1]),
                             (["x"], [1], [1] * 4), (5, [1], [1] * 4)]:  # fmt: skip
        arguments = (
            4096,
            3,
            2,
            6,
            [32, 16],
            [2, 8, 8, 16],
            [1024, 128, 16, 1],
            0,
            low,
            high,
            *more,
            steps,
        )
        made_map = attempt(
            f"im2col {low}",
            lambda arguments=arguments: utils.fill_tma_descriptor_im2col(*arguments) and None,
        )
        if low == [0, -1]:
            run(
                "im2col as an argument",
                ["nvTmaDesc"],
                [128],
                [utils.fill_tma_descriptor_im2col(*arguments)],
            )

json.dump(outcomes, sys.stdout, default=repr)

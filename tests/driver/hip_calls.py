"""Calls of a release's AMD driver, compiled by gcc or in Python: what came of each, as JSON.

    python hip_calls.py PACKAGE compiled|python SCRATCH LIBAMDHIP

Run twice, the output and the stand-in runtime's log must be the same.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # an embedded Python does not
import stubs
from stubs import Tensor

package, mode, scratch, libhip = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
os.environ.update(TRITON_LIBHIP_PATH=libhip, FAKEHIP_SELF=libhip)
gcc = stubs.Gcc(scratch, [str(package / "backends" / "amd" / "include")], [])


module = stubs.start(package, "amd", mode, gcc)
record = stubs.Record("FAKEHIP_LOG")


def attempt(name: str, call: Any) -> None:
    record.attempt(name, call)
    if packed:  # the compiled launcher names an argument by a number that it was not given
        record.outcomes[-1][1] = re.sub(r" \(at -?\d+\)", "", record.outcomes[-1][1])


utils = module.HIPUtils()
module.HIPDriver = type(stubs.activate(utils))
text = Path(module.__file__ or "").read_text()
packed = hasattr(utils, "launch")
nested = packed or '"constexpr"' in text
six = not packed and "clusterDimX" in text


launcher = functools.partial(stubs.launcher, module.HIPLauncher)
sample = launcher({0: "*fp32"})
SCRATCH = [8] * (
    2 if nested and ("profile_scratch" in text) else 1 if "global_scratch" in text else 0
)


def run(name: str, signature: Any, sizes: Any, values: Any, grid: Any = (3, 2, 1), stream: int = 0,
        hooks: Any = (None, None), shared: int = 0, **more: Any) -> None:  # fmt: skip
    made = launcher(dict(enumerate(signature)), **more)
    image = f"PARAMETERS {' '.join(map(str, [*sizes, *SCRATCH]))}\0".encode()
    function = utils.load_binary("kernel", image, 0, 0)[1]
    about = (more.get("warps", 4), more.get("ctas", 1), shared, *((1, 1, 1) if six else ()))
    for count in range(3):
        attempt(
            f"{name} {count}",
            lambda: made(*grid, stream, function, about, "about", *hooks, *values),
        )


scalars = {
    "i8": (1, [0, 127]), "i16": (2, [-1]), "i32": (4, [-1, 2**31 - 1]), "i64": (8, [-1, 1 << 40]),
    "u8": (1, [255]), "u16": (2, [65535]), "u32": (4, [2**32 - 1]), "u64": (8, [2**64 - 1]),
    "fp32": (4, [0.1, 1e300]), "fp64": (8, [0.1, 2]),
}  # fmt: skip
if packed or "pack_fp16" in text:
    scalars.update(fp16=(2, [0.1]), bf16=(2, [0.1, 1e300]))
for kind, (size, values) in scalars.items():
    for value in values:
        run(f"{kind} {value!r}", [kind], [size], [value])
# up to 3.6 an argument without data_ptr crashes the compiled launcher
wrong: list[Any] = [
    ("i32", 2**31),
    ("i32", "x"),
    ("fp32", "x"),
    ("*fp32", Tensor(0x6C << 40, False)),
]
for kind, bad in [*wrong, *([("*fp32", "x")] if packed else [])]:
    run(f"wrong {kind}", [kind], [scalars.get(kind, (8,))[0]], [bad])
run(
    "pointers",
    ["*fp32"] * 4,
    [8] * 4,
    [Tensor(1 << 40), Tensor(0), 4096, Tensor(0x6D << 40, False)],
)
run("no arguments", [], [], [])
run("70 arguments", ["*fp32", "i32"] * 35, [8, 4] * 35, [Tensor(256), 7] * 35)
run("stream", ["i32"], [4], [1], stream=0xABCDEF0012345678, shared=4096)
for grid in [(0, 1, 1), (5, 6, 7)]:
    run(f"grid {grid}", ["i32"], [4], [1], grid=grid)
if nested:
    run("tuples", [("i32", "*fp32"), "constexpr", ("fp32", ("i8",))], [4, 8, 4, 1],
        [(1, Tensor(32)), "any", (0.5, (3,))])  # fmt: skip
if hasattr(sample, "launch_cooperative_grid"):
    run("cooperative", ["i32"], [4], [1], cooperative=True)
if (
    "hipDrvLaunchKernelEx" in text
    or "hipDrvLaunchKernelEx" in (package / "backends/amd/driver.c").read_text()
):
    run("clusters", ["i32"], [4], [1], ctas=2)
    run("cooperative clusters", ["i32"], [4], [1], ctas=2, cooperative=True)
if hasattr(sample, "profile_scratch_size"):
    run("profile scratch", ["i32"], [4], [1], profile=64)
calls: list[Any] = []
run("hooks", ["i32"], [4], [1], hooks=(calls.append, calls.append))
record.outcomes.append(["hooks called", calls, []])
if "R0000" not in (package / "backends/amd/driver.c").read_text():
    attempt("properties", lambda: utils.get_device_properties(0))
    attempt("properties of no device", lambda: utils.get_device_properties(7))
attempt("load", lambda: utils.load_binary("kernel", b"PARAMETERS\0", 0, 0)[2:])
json.dump(record.outcomes, sys.stdout, default=repr)

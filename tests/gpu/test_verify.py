"""`tritonwin verify` with seeded faults on this machine's GPU; skipped without one.

Each fault has a rung that must fail with a problem's id, and rungs that must pass all the same.
`tools/gpu/verify.sh` runs the whole ladder and then these. Packages of the target lie in
.gpu/packages and .gpu/cuda12, those of tritonwin in .gpu/site (`tools/gpu/fetch.py verify`).
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
GPU = CHECKOUT / ".gpu"
SECONDS = 70  # for a fault
FILL_CACHE = """
import torch
from kernels import add
x = torch.ones(5000, device="cuda")
add[(5,)](x, x, torch.empty_like(x), 5000, BLOCK=1024)
torch.cuda.synchronize()
"""

try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    pytest.skip("no NVIDIA driver is here", allow_module_level=True)
pytest.importorskip("triton", reason="this Python has no Triton")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A seeded fault, the rung that must name it, and the rungs that must pass beside it."""

    name: str
    rung: str
    problem: str
    beside: tuple[str, ...]
    seed: Callable[[Path], Mapping[str, str]]  # an empty folder -> variables
    options: tuple[str, ...] = ()


def blocked_cache(folder: Path) -> Mapping[str, str]:
    # root may write everywhere; not even root makes a folder where a file is
    (folder / "file").touch()
    return {"TRITON_CACHE_DIR": str(folder / "file" / "cache")}


def damaged_cubin(folder: Path) -> Mapping[str, str]:
    cache = {"TRITON_CACHE_DIR": str(folder / "cache")}
    rungs = CHECKOUT / "src/tritonwin/verify/rungs"
    command = [sys.executable, "-c", FILL_CACHE]
    variables = {**os.environ, **cache, "PYTHONPATH": str(rungs)}
    subprocess.run(command, env=variables, timeout=60, check=True)
    for cubin in (folder / "cache").rglob("*.cubin"):
        data = bytearray(cubin.read_bytes())
        data[64 : len(data) // 2] = bytes(len(data) // 2 - 64)
        cubin.write_bytes(data)
    return cache


def illegal_access(_: Path) -> Mapping[str, str]:
    path = os.pathsep.join([str(Path(__file__).parent / "faults"), str(GPU / "packages")])
    return {"TRITONWIN_FAULT": "illegal-access", "PYTHONPATH": path}


FAULTS = (
    Fault(
        name="TRITON_PTXAS_PATH names no file",
        rung="toolchain",
        problem="ptxas-path-variable-ignored",
        beside=("ptxas", "compile-cubin"),
        seed=lambda folder: {"TRITON_PTXAS_PATH": str(folder / "nowhere" / "ptxas")},
    ),
    Fault(
        name="a file stands where the cache folder should be",
        rung="user-cache",
        problem="triton-home-not-writable",
        beside=("compile-cubin", "vector-add"),
        seed=blocked_cache,
    ),
    Fault(
        name="CC=false",
        rung="helper-module",
        problem="cc-variable-wrong",
        beside=("headers-and-library", "compile-cubin"),
        seed=lambda _: {"CC": "false"},
    ),
    Fault(
        name="a damaged cubin in the user's cache",
        rung="user-cache",
        problem="damaged-cache-entry",
        beside=("compile-cubin", "vector-add"),
        seed=damaged_cubin,
    ),
    Fault(
        name="fp8 (e4m3) for sm_80",
        rung="compile-fp8",
        problem="fp8-needs-sm89",
        beside=("compile-cubin",),
        seed=lambda _: {},
        options=("--arch", "80", "--force"),
    ),
    Fault(
        name="a kernel that writes where it must not",
        rung="vector-add",
        problem="async-cuda-error-blames-triton",
        beside=("driver", "compile-cubin", "user-cache"),
        seed=illegal_access,
    ),
)


def rungs(fault: Fault, folder: Path) -> dict[str, Any]:
    """The rungs of `tritonwin verify --json` by their ids, with the fault seeded."""
    only = [word for rung in (fault.rung, *fault.beside) for word in ("--only", rung)]
    libraries = [str(GPU / "cuda12/nvidia/cuda_runtime/lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(libraries).rstrip(os.pathsep),
        "PYTHONPATH": str(GPU / "packages"),
        "TRITONWIN_HOME": str(folder),
        **fault.seed(folder),
    }
    start = (
        f"import sys; sys.path[:0] = {[str(CHECKOUT / 'src'), str(GPU / 'site')]!r}; "
        "from tritonwin.__main__ import main; sys.exit(main())"
    )
    # a rung without end must leave time to tell of the others
    limit = ("--rung-timeout", f"{0.9 * SECONDS:g}")
    command = (sys.executable, "-c", start, "verify", "--json", "--python", sys.executable)
    done = subprocess.run(
        [*command, *limit, *only, *fault.options], env=environment, capture_output=True, text=True,
        timeout=SECONDS + 10, check=False,
    )  # fmt: skip
    try:
        return {rung["id"]: rung for rung in json.loads(done.stdout)["rungs"]}
    except (ValueError, KeyError):
        raise AssertionError((done.stdout + done.stderr)[-2000:]) from None


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The runs of all faults, side by side."""
    with ThreadPoolExecutor(len(FAULTS)) as pool:
        runs = [pool.submit(rungs, fault, tmp_path_factory.mktemp("home")) for fault in FAULTS]
        yield dict(zip(FAULTS, runs, strict=True))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_named_by_its_rung(fault: Fault, started: Any) -> None:
    found = started[fault].result()
    assert found[fault.rung]["problems"][:1] == [fault.problem], found[fault.rung]
    assert {name: found[name]["state"] for name in fault.beside} == dict.fromkeys(
        fault.beside, "passed"
    )

#!/usr/bin/env python3
"""Run `tritonwin verify` of this checkout on a machine with a GPU: whole, then with seeded faults.

Each fault has a rung that must fail with a problem's id, and rungs that must pass all the same.
Writes ladder.json, ladder.md, ladder.html, faults.json and table.txt. `--only RUNG ...` tries some
rungs again, without the faults. Exit status 1 when the ladder does not hold or a fault was not
named.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BROKEN = {"failed", "crashed", "timed-out"}
LADDER_SECONDS = 180  # torch-compile-cpp alone may take half of it
FAULT_SECONDS = 70
PROGRAM = """
import sys
sys.path[:0] = {paths!r}
from tritonwin.__main__ import main
sys.exit(main())
"""
FILL_CACHE = """
import torch
from vector_add import add
x = torch.ones(5000, device="cuda")
add[(5,)](x, x, torch.empty_like(x), 5000, BLOCK=1024)
torch.cuda.synchronize()
"""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A seeded fault, the rung that must name it, and the rungs that must pass beside it."""

    name: str
    rung: str
    problem: str
    beside: tuple[str, ...]
    seed: Callable[[Path], dict[str, str]]  # an empty folder -> variables
    options: tuple[str, ...] = ()


def missing_ptxas(folder: Path) -> dict[str, str]:
    return {"TRITON_PTXAS_PATH": str(folder / "nowhere" / "ptxas")}


def blocked_cache(folder: Path) -> dict[str, str]:
    # root may write everywhere; not even root makes a folder where a file is
    (folder / "file").touch()
    return {"TRITON_CACHE_DIR": str(folder / "file" / "cache")}


def wrong_compiler(folder: Path) -> dict[str, str]:
    del folder
    return {"CC": "false"}


def damaged_cubin(folder: Path) -> dict[str, str]:
    cache = {"TRITON_CACHE_DIR": str(folder / "cache")}
    rungs = CHECKOUT / "src/tritonwin/verify/rungs"
    subprocess.run(
        [sys.executable, "-c", FILL_CACHE],
        env={**os.environ, **cache, "PYTHONPATH": str(rungs)},
        timeout=60,
        check=True,
    )
    for cubin in (folder / "cache").rglob("*.cubin"):
        data = bytearray(cubin.read_bytes())
        data[64 : len(data) // 2] = bytes(len(data) // 2 - 64)
        cubin.write_bytes(data)
    return cache


def nothing(folder: Path) -> dict[str, str]:
    del folder
    return {}


def illegal_access(folder: Path) -> dict[str, str]:
    del folder
    path = os.pathsep.join([str(HERE / "faults"), str(CHECKOUT / ".gpu/packages")])
    return {"TRITONWIN_FAULT": "illegal-access", "PYTHONPATH": path}


FAULTS = (
    Fault(
        name="TRITON_PTXAS_PATH names no file",
        rung="toolchain",
        problem="ptxas-path-variable-ignored",
        beside=("ptxas", "compile-cubin"),
        seed=missing_ptxas,
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
        seed=wrong_compiler,
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
        seed=nothing,
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


def verify(
    *options: str, variables: dict[str, str], seconds: float, home: Path
) -> tuple[dict[str, Any] | None, str]:
    """The document of `tritonwin verify --json`, and what was said besides."""
    paths = [str(CHECKOUT / "src"), str(CHECKOUT / ".gpu/site")]
    libraries = [str(CHECKOUT / ".gpu/cuda12/nvidia/cuda_runtime/lib")]
    libraries += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "PYTHONPATH": str(CHECKOUT / ".gpu/packages"),
        "TRITONWIN_HOME": str(home),
        **variables,
    }
    command = [sys.executable, "-c", PROGRAM.format(paths=paths), "verify", "--json"]
    # one rung without end must leave time to tell of the others
    command += ["--python", sys.executable, "--rung-timeout", f"{0.9 * seconds:g}", *options]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # it then ends what it started
        process.communicate(timeout=30)
        return None, f"no end within {seconds} s"
    try:
        document = json.loads(out)
    except ValueError:
        return None, (out + err)[-2000:]
    return (document if "rungs" in document else None), out[-2000:]


def judge(fault: Fault) -> dict[str, Any]:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        named = (fault.rung, *fault.beside)
        only = [word for rung in named for word in ("--only", rung)]
        document, said = None, ""
        try:
            variables = fault.seed(Path(folder))
            document, said = verify(
                *only, *fault.options, variables=variables, seconds=FAULT_SECONDS, home=Path(folder)
            )
        except subprocess.SubprocessError as error:
            said = f"the fault could not be seeded: {error}"
    rungs = {rung["id"]: rung for rung in document["rungs"]} if document else {}
    broken = rungs.get(fault.rung, {})
    named_first = broken.get("problems", [])[:1] == [fault.problem]
    others = {name: rungs.get(name, {}).get("state", "not reached") for name in fault.beside}
    return {
        "fault": fault.name,
        "rung": fault.rung,
        "state": broken.get("state", "not reached"),
        "problems": broken.get("problems", []),
        "detail": broken.get("detail", said),
        "others": others,
        "right": named_first and set(others.values()) == {"passed"},
        "seconds": round(time.perf_counter() - started, 1),
    }


def table(document: dict[str, Any] | None, faults: list[dict[str, Any]]) -> Iterator[str]:
    for rung in document["rungs"] if document else ():
        yield f"{rung['id']:22} {rung['state']:15} {rung['seconds']:6.1f} s  {rung['detail'][:110]}"
    yield ""
    for row in faults:
        verdict = "named" if row["right"] else "NOT NAMED"
        yield f"{verdict:10} {row['fault']}: {row['rung']} {row['state']}, {row['problems']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path.cwd())
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--faults-only", action="store_true")
    some.add_argument("--only", nargs="+", metavar="RUNG", default=())
    parser.add_argument("--seconds", type=float, default=LADDER_SECONDS, help="for the ladder")
    arguments = parser.parse_args()
    document: dict[str, Any] | None = None
    if not arguments.faults_only:
        reports = [str(arguments.out / f"ladder.{kind}") for kind in ("json", "md", "html")]
        options = [word for report in reports for word in ("--report", report)]
        options += [word for rung in arguments.only for word in ("--only", rung)]
        with tempfile.TemporaryDirectory() as home:
            document, said = verify(
                *options, variables={}, seconds=arguments.seconds, home=Path(home)
            )
        if document is None:
            print(said)
        print("\n".join(table(document, [])))
    seeded = () if arguments.only else FAULTS
    with ThreadPoolExecutor(max_workers=len(FAULTS)) as pool:
        faults = list(pool.map(judge, seeded))
    if faults:
        (arguments.out / "faults.json").write_text(json.dumps(faults, indent=2) + "\n", "utf-8")
    lines = "\n".join(table(document, faults))
    (arguments.out / "table.txt").write_text(lines + "\n", "utf-8")
    print("\n".join(table(None, faults)))
    holds = arguments.faults_only or bool(document and document["proven"])
    return 0 if holds and all(row["right"] for row in faults) else 1


if __name__ == "__main__":
    sys.exit(main())
